#include "verdict/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "verdict/compare.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/judge.h"
#include "verdict/traffic.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

using simulator::BlockOrder;

// Of a sample, and from how many blocks on a grid has them for the rows, not for the device.
constexpr std::int64_t kSampledBlocks = 4;
constexpr double kSampleLimit = 0.5;  // seconds for one launch; of all blocks:
constexpr double kFullLimit = 20.0;
constexpr std::int64_t kBlocksForRows = 4096;
constexpr int kMostTimeouts = 2;
constexpr double kPatience = 1.0;                           // seconds for a launch of an experiment
constexpr std::int64_t kAnyGpuHas = std::int64_t{1} << 30;  // bytes

Session* running_session = nullptr;  // only Session::Running changes it

/// Ends a check, whose failure is noted.
struct CheckFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double start_limit(const std::string& device) {
  return device == "gpu" ? 60.0 : 15.0;
}

/// changed: what the outputs held is a result too, and may have been written again.
Failure not_started(const std::string& outputs, bool launched, bool changed) {
  if (launched && changed) {
    return {.status = Status::not_started,
            .message = fmt::format("What was in {} is still there after the call.", outputs)};
  }
  const char* reason = launched ? "" : ": no kernel was launched";
  return {.status = Status::not_started,
          .message = fmt::format("Nothing was written to {}{}.", outputs, reason),
          .mistake = "not-started"};
}

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
      "CUDA promises no order: no block may count on what another one has done.",
      order == BlockOrder::falling ? "the last one runs first, and 0 last"
                                   : "they run in a shuffled order");
  return failure;
}

/// Does the output hold what it held before the call: poison, or its own contents if it is changed
/// in place?
bool left_alone(const Case& call, const Answer& answer, const std::string& output,
                const Comparison& comparison) {
  if (call.buffer(output).role == Role::in_place) {
    return !first_change(call.values(output), answer[output]);
  }
  return comparison.untouched();
}

}  // namespace

Session::Session(Settings settings)
    : settings_(std::move(settings)),
      worker_(std::make_unique<WorkerClient>(std::vector{settings_.worker},
                                             start_limit(settings_.device))) {}

Session::~Session() = default;

Session::Running::Running(Session& session) {
  running_session = &session;
}

Session::Running::~Running() {
  running_session = nullptr;
}

Session::Sampling::Sampling(Session& session) : session_(session) {
  session_.sampling_ = session_.device() == "cpu";
}

Session::Sampling::~Sampling() {
  session_.sampling_ = false;
}

Session& session() {
  if (running_session == nullptr) {
    throw std::logic_error("only a check that runs has a session");
  }
  return *running_session;
}

Random Session::random() const {
  return Random(settings_.seed).stream(settings_.exercise).stream(check_.name);
}

void Session::begin_check(const std::string& name) {
  check_ = Check();
  check_.name = name;
}

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
void Session::in_turn(const Case& call, const std::function<void(const Turn&)>& look) {
  const Turn turn = next_turn();
  const bool others_before = any_right_ && worker_->has_answered();
  const Check before = check_;
  const int timeouts_before = timeouts_;
  const auto warned_before = warned_;
  Failure failure;
  const auto goes_well = [&](const Turn& other, bool find_causes = false) {
    check_ = before;
    check_.find_causes = find_causes;
    timeouts_ = timeouts_before;
    warned_ = warned_before;
    try {
      look(other);
      check_.find_causes = true;
      return true;
    } catch (const CheckFailed&) {
      failure = *check_.failure;
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
  const Failure first = failure;
  const bool final = turn.order == BlockOrder::rising && !check_.causes_left;
  if (others_before && !endless) {
    worker_->stop();
    if (goes_well(turn)) {
      const bool at_once = !goes_well(turn);
      // Between two processes a GPU may differ by chance.
      fail(call, at_once || device() == "cpu" ? left_behind(first, at_once) : first);
    }
  }
  if (turn.order != BlockOrder::rising && goes_well({turn.poison})) {
    fail(call, goes_well(turn) ? first : out_of_order(failure, turn.order));
  }
  fail(call, final || goes_well({turn.poison}, true) ? first : failure);
}

/// Calls the student's function.
Run Session::attempt(const Case& call, const Turn& turn, bool count_lines) {
  if (timeouts_ >= kMostTimeouts) {
    fail(call, {Status::timed_out, "Not run, since two checks before this one ran out of time."});
  }
  const double limit = turn.most_blocks > 0 ? kSampleLimit
                       : sampling_          ? kFullLimit
                                            : settings_.time_limit;
  Run run = worker_->run(call, turn, limit, count_lines);
  check_.output = (check_.output + run.output).substr(0, kMostOutput);
  const Finding* warning = telling_warning(run.findings);
  check_.doubt = warning != nullptr ? std::optional(*warning) : std::nullopt;
  check_.launched = settings_.device != "cpu" || !run.traffic.empty();
  for (const Finding& finding : run.findings) {
    const std::string where = location_of(finding).value_or("");
    // Once a line: the next shape shows the same at another element.
    if (finding.warning && warned_.emplace(finding.kind, where).second) {
      check_.warnings.push_back((where.empty() ? "" : where + ": ") + sentence_of(finding));
    }
  }
  return run;
}

/// A call that came to its end and left alone what is not its own; any other ends the check.
Run Session::complete(const Case& call, const Turn& turn, bool count_lines) {
  Run result = attempt(call, turn, count_lines);
  std::optional<Failure> failure = judge_ending(call, result, ends_well());
  if (!failure && !check_.launched) {
    failure = judge_launches(call, result);
  }
  if (!failure) {
    failure = judge_memory(call, result, ends_well());
  }
  if (failure) {
    timeouts_ += failure->status == Status::timed_out ? 1 : 0;
    if (result.outcome != Outcome::ok && !machine_is_sound()) {
      failure->status = Status::ungraded;
      failure->message =
          "The device does not work any more, even for a trusted kernel: " + failure->message;
    }
    fail(call, *failure);
  }
  return result;
}

/// After a failure on a GPU: does the device still serve a worker that can be trusted?
bool Session::machine_is_sound() const {
  if (settings_.device != "gpu" || settings_.reference.empty()) {
    return true;
  }
  WorkerClient probe({settings_.reference});
  return probe.hello().outcome == Outcome::ok;
}

/// Does the device have room for the case? The simulator always has. A trusted worker is asked: the
/// student's could say no, and so be spared the case.
bool Session::fits(const Case& call) {
  if (settings_.device != "gpu" || settings_.reference.empty() || call.span_bytes() < kAnyGpuHas) {
    return true;
  }
  if (!memory_bytes_) {
    WorkerClient trusted({settings_.reference}, start_limit(settings_.device));
    const bool known = trusted.hello().outcome == Outcome::ok;
    memory_bytes_ = known ? static_cast<double>(trusted.device().memory_bytes) : 0.0;
  }
  return *memory_bytes_ <= 0.0 ||
         static_cast<double>(call.span_bytes()) <= kUsableMemory * *memory_bytes_;
}

/// For an experiment: nothing of it counts, or is told.
std::optional<Answer> Session::try_out(const Case& call) {
  if (check_.out_of_patience) {
    return std::nullopt;
  }
  Run run = worker_->run(call, {}, kPatience);
  check_.out_of_patience = run.outcome == Outcome::timed_out;
  const bool good =
      !judge_ending(call, run, kNobodyAsked) && !judge_memory(call, run, kNobodyAsked);
  return good ? std::optional(std::move(run.answer)) : std::nullopt;
}

GoesWell Session::ends_well() {
  return [this](const Case& other) { return try_out(other).has_value(); };
}

Answer Session::expect(const Case& call, const Outputs& outputs,
                       const std::vector<Oracle>& oracles) {
  if (!fits(call)) {
    ++check_.left_out;
    check_.warnings.push_back(fmt::format(
        "Left out: this GPU's memory is too small for the {:.1f} GB of the call {}. Grade on the "
        "CPU to see it.",
        static_cast<double>(call.span_bytes()) * 1e-9, call.describe()));
    return {};
  }
  if (sampling_) {
    expect_by_sample(call, outputs, oracles);
    return {};
  }
  Answer answer;
  in_turn(call, [&](const Turn& turn) {
    answer = complete(call, turn).answer;
    compare(call, answer, outputs, oracles);
  });
  return answer;
}

/// `work`, unless it runs out of time: of so many threads that says nothing. Did it not?
bool Session::in_time(const std::function<void()>& work) {
  const int timeouts_before = timeouts_;
  try {
    work();
    return true;
  } catch (const CheckFailed&) {
    if (check_.failure->status != Status::timed_out) {
      throw;
    }
  }
  timeouts_ = timeouts_before;
  check_.failure.reset();
  return false;
}

/// Are all numbers right that the blocks of a sample have written, and are they their share? If the
/// grid has a block for each few rows, the last row must be among them.
bool Session::is_right_in_sample(const Case& call, const Run& run, const Outputs& outputs) {
  std::int64_t blocks = 0;
  for (const LaunchTraffic& launch : run.traffic) {
    blocks = std::max(blocks, std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z);
  }
  return std::all_of(outputs.begin(), outputs.end(), [&](const auto& expected) {
    const auto [output, value, bound] = expected(call);
    const Matrix& got = run.answer[output];
    const Comparison comparison = verdict::compare(got, value, bound, run.answer.poison);
    const Buffer& buffer = call.buffer(output);
    const auto unwritten = [&](std::int64_t row, std::int64_t col) {
      return buffer.role == Role::in_place ? got.get(row, col) == buffer.before(row, col)
                                           : comparison.unwritten_mask(row, col) != 0;
    };
    std::int64_t left = 0;
    for (std::int64_t row = 0; row < got.rows(); ++row) {
      for (std::int64_t col = 0; col < got.cols(); ++col) {
        left += comparison.wrong_mask(row, col) != 0 && unwritten(row, col) ? 1 : 0;
      }
    }
    // Of many blocks the last may have less to do than the others.
    const std::int64_t share =
        got.size() / std::max<std::int64_t>(blocks, 1) * (kSampledBlocks - 1);
    return comparison.wrong == left && got.size() - left >= share &&
           !(blocks > kBlocksForRows && unwritten(got.rows() - 1, 0));
  });
}

/// What the blocks of a sample do wrong ends the check, whatever the others do. Not so the numbers,
/// in which other blocks may have a share: if they are not right, all blocks run.
void Session::expect_by_sample(const Case& call, const Outputs& outputs,
                               const std::vector<Oracle>& oracles) {
  const Poison poison = next_turn().poison;
  bool right = true;
  in_time([&] {
    const Run run = complete(call, {poison, BlockOrder::rising, 0, kSampledBlocks});
    right = is_right_in_sample(call, run, outputs);
  });
  if (!right &&
      !in_time([&] { compare(call, complete(call, {poison}).answer, outputs, oracles); })) {
    check_.warnings.push_back(fmt::format(
        "Left out: the simulator takes too long for the call {}. Grade on a GPU to see it.",
        call.describe()));
  }
}

std::optional<Traffic> Session::expect_and_count(const Case& call, const Outputs& outputs,
                                                 const std::vector<Oracle>& oracles) {
  if (settings_.device != "cpu") {
    expect(call, outputs, oracles);
    return std::nullopt;
  }
  const Run result = complete(call, {next_turn().poison}, true);
  compare(call, result.answer, outputs, oracles);
  return traffic_of(result);
}

void Session::compare(const Case& call, const Answer& answer, const Outputs& outputs,
                      const std::vector<Oracle>& oracles) {
  const std::vector<Expectation> expectations = verdict::expectations(outputs, call);
  std::vector<Comparison> comparisons;
  std::string names;
  bool untouched = false;
  bool changed = false;
  for (const auto& [output, value, bound] : expectations) {
    const Matrix& got = answer[output];
    const bool poisoned = call.buffer(output).role == Role::output;
    const Comparison& comparison = comparisons.emplace_back(verdict::compare(
        got, value, bound, poisoned ? std::optional(answer.poison) : std::nullopt));
    check_.compared += comparison.size;
    // 16-bit results are left out: their own rounding takes half a unit in the last place, which is
    // most of their bound, however right they are.
    if (got.dtype() == Dtype::fp32 && comparison.right()) {
      check_.error_over_bound =
          std::max(check_.error_over_bound.value_or(0.0), comparison.error_over_bound);
    }
    changed = changed || !poisoned;
    names += (names.empty() ? "" : " and ") + output;
    const bool alone = left_alone(call, answer, output, comparison);
    untouched = untouched || (alone && !comparison.right());
    check_.wrote = check_.wrote || (comparison.size > 0 && !alone);
  }
  if (untouched && !check_.wrote) {
    fail(call, not_started(names, check_.launched, changed));
  }
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (!comparisons[i].right()) {
      const WrongOutput wrong = {call, answer, expectations[i], comparisons[i]};
      Causes causes;
      if (check_.find_causes) {
        causes = find_causes(wrong, outputs[i], oracles,
                             [this](const Case& other) { return try_out(other); });
      }
      check_.causes_left = !check_.find_causes;
      fail(call, wrong_numbers(wrong, causes, check_.doubt, [&](const Case& other) {
             const std::optional<Answer> retried = try_out(other);
             const auto [output, value, bound] = outputs[i](other);
             return retried &&
                    verdict::compare((*retried)[output], value, bound, retried->poison).right();
           }));
    }
  }
}

void Session::expect_untouched(const Case& call, const std::string& sentence) {
  in_turn(call, [&](const Turn& turn) {
    const Answer answer = complete(call, turn).answer;
    for (const Buffer& buffer : call.buffers()) {
      if (buffer.role == Role::output && !buffer.null &&
          !is_poison(answer[buffer.name], 0, 0, answer.poison)) {
        const std::string where = buffer.name + "[0]";
        fail(call, {.message = fmt::format(fmt::runtime(sentence), where), .where = where});
      }
    }
  });
}

void Session::fail(const Case& call, Failure failure) {
  failure.call = call.describe();
  failure.output = check_.output;
  check_.failure = failure;
  throw CheckFailed(failure.message);
}

}  // namespace onepass::verdict
