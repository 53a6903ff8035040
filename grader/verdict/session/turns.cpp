// In which circumstances a call is made, and whether a failure is one of them.
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

using simulator::BlockOrder;

/// Of a call that goes well if it is the first in its process. at_once: not so the second time.
Failure left_behind(Failure failure, bool at_once) {
  failure.mistake = "state-kept";
  failure.message += fmt::format(
      "\nThe same call is right in a process of its own, and wrong {}: what a call leaves behind "
      "counts in a later one. Look at static and __device__ variables, at memory that is allocated "
      "once and kept, and at variables that are never set.",
      at_once ? "when it is made there a second time" : "after the calls before it");
  return failure;
}

Failure out_of_order(Failure failure, BlockOrder order) {
  failure.mistake = "block-order";
  failure.message += fmt::format(
      "\nThe same call is right when the blocks run in the order 0, 1, 2, ..., and wrong when {}. "
      "CUDA promises no order: no block, and no warp, may count on what another one has done.",
      order == BlockOrder::falling ? "the last one runs first, and 0 last"
                                   : "they run in a shuffled order, some of them together, the "
                                     "last thread of each first");
  return failure;
}

}  // namespace

/// With which turn a check begins depends on its name, so that checks of one call differ.
Turn Session::next_turn() {
  constexpr BlockOrder kOrders[] = {BlockOrder::rising, BlockOrder::falling, BlockOrder::shuffled};
  const std::uint64_t turn = random().bits(0) + static_cast<std::uint64_t>(check_.calls++);
  return {(turn & 1) != 0 ? Poison::finite : Poison::nan,
          settings_.device == "cpu" ? kOrders[turn % std::size(kOrders)] : BlockOrder::rising,
          turn};
}

/// `look` makes a call and judges it. What fails is looked at again with one thing changed: in a
/// worker of its own, which no call before has touched, and with block 0 first. Where that goes
/// well, and the failure comes back with what was changed, that is the reason. Everywhere else it
/// is looked for in the numbers.
void Session::in_turn(const Case& call, const Turn& turn,
                      const std::function<void(const Turn&)>& look) {
  // Of a check's calls none failed before; but on a GPU other checks have used the worker, and to
  // start one takes long.
  const bool others_before = (any_right_ || device() == "cpu") && worker_->has_answered();
  const Check before = check_;
  const auto warned_before = warned_;
  Failure failure;
  std::optional<Failure> first;
  const auto goes_well = [&](const Turn& other, bool find_causes = false) {
    check_ = before;
    check_.find_causes = find_causes;
    warned_ = warned_before;
    try {
      look(other);
      check_.find_causes = true;
      return true;
    } catch (const CheckFailed&) {
      failure = *check_.failure;
      if (is_out_of_time()) {
        fail(call, first.value_or(failure));
      }
      return false;
    }
  };
  if (goes_well(turn)) {
    any_right_ = any_right_ || check_.wrote;
    return;
  }
  const bool endless = failure.status == Status::timed_out;
  if (endless && (turn.order == BlockOrder::rising || !failure.mistake)) {
    fail(call, std::move(failure));
  }
  first = failure;
  const bool final = turn.order == BlockOrder::rising && !check_.causes_left;
  if (others_before && !endless) {
    worker_->stop();
    if (goes_well(turn)) {
      const bool at_once = !goes_well(turn);
      // Between two processes a GPU may differ by chance.
      fail(call, at_once || device() == "cpu" ? left_behind(*first, at_once) : *first);
    }
  }
  if (turn.order != BlockOrder::rising && goes_well({turn.poison})) {
    fail(call, goes_well(turn) ? *first : out_of_order(failure, turn.order));
  }
  fail(call, final || goes_well({turn.poison}, true) ? *first : failure);
}

}  // namespace onepass::verdict
