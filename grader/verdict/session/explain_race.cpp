#include "verdict/session/explain_race.h"

#include <algorithm>
#include <utility>

#include "verdict/contract/call.h"

namespace onepass::verdict {
namespace {

/// Do two threads write to that tensor in one place, and not the same?
bool is_written_by_two(const Run& run, const std::string& buffer) {
  return std::any_of(run.findings.begin(), run.findings.end(), [&](const Finding& finding) {
    return finding.kind == Kind::global_race && finding.buffer == buffer &&
           finding.habit != simulator::Habit::same_value &&
           std::all_of(finding.parties.begin(), finding.parties.end(),
                       [](const Party& party) { return party.action.starts_with("writes"); });
  });
}

/// Do both write to one element of a matrix? What has one number a row may be written by all of the
/// row's threads, each with its own share.
bool is_another_ones_element(const Case& call, const Finding& finding) {
  const contract::Tensor* tensor = contract::tensor_of(call, finding.buffer);
  return finding.kind == Kind::global_race && finding.habit == simulator::Habit::none &&
         std::all_of(finding.parties.begin(), finding.parties.end(),
                     [](const Party& party) { return party.action.starts_with("writes"); }) &&
         tensor != nullptr && tensor->is_data() && tensor->rows != contract::Extent(1) &&
         tensor->cols != contract::Extent(1);
}

/// Do two threads of a block write to one place at one line? No barrier orders these.
bool is_one_number(const Finding& finding) {
  return finding.kind == Kind::global_race && finding.habit == simulator::Habit::none &&
         finding.parties.size() == 2 && finding.parties[0].block == finding.parties[1].block &&
         std::all_of(finding.parties.begin(), finding.parties.end(), [&](const Party& party) {
           return party.action.starts_with("writes") && location_of(party) == location_of(finding);
         });
}

/// The rows that a block does several of, by their name: those that are more than some launch of
/// the kernel has blocks. Nothing if each block does one.
std::optional<std::string> rows_of_a_block(const Case& call, const Run& run,
                                           const std::string& kernel) {
  if (call.contract() == nullptr) {
    return std::nullopt;
  }
  for (const LaunchTraffic& launch : run.traffic) {
    const std::int64_t blocks = std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    for (const std::string& rows : call.contract()->row_sizes()) {
      if (launch.kernel == kernel && blocks < call.integer(rows)) {
        return rows;
      }
    }
  }
  return std::nullopt;
}

/// Where in the kernel it happens, and where in the function that the kernel calls there.
std::pair<int, int> place_in_kernel(const Party& party) {
  return {party.called_from != 0 ? party.called_from : party.line, party.line};
}

}  // namespace

Diagnosis with_advice(const Finding& finding, const std::optional<std::string>& mistake,
                      const std::string& advice) {
  return {mistake, account_of(finding) + "\n" + advice};
}

Diagnosis explain_global_race(const Case& call, const Run& run, const Finding& finding) {
  const Party& one = finding.parties[0];
  const Party& other = finding.parties[1];
  const bool lacks_fence = finding.missing == Missing::fence || finding.missing == Missing::acquire;
  if (one.block != other.block && (lacks_fence || finding.missing == Missing::barrier)) {
    return {lacks_fence ? "missing-fence" : "missing-barrier", sentence_of(finding)};
  }
  const Buffer* buffer = call.find(finding.buffer);
  if (buffer != nullptr && buffer->role == Role::input) {
    return with_advice(finding, "input-modified",
                       buffer->name + " is an input: write to outputs only.");
  }
  if (one.line == other.line && one.file == other.file) {
    return with_advice(finding, "lost-updates",
                       "Both threads change it there, and of two that come at once one is lost. If "
                       "each has a share, use an atomic, or let each have a place of its own, and "
                       "add those up; if it is to change once, let one thread do it.");
  }
  const bool both_write = one.action.starts_with("writes") && other.action.starts_with("writes");
  const contract::Tensor* tensor = contract::tensor_of(call, finding.buffer);
  if (both_write && one.block != other.block && tensor != nullptr && tensor->is_data() &&
      tensor->rows != contract::Extent(1)) {
    return with_advice(finding, std::nullopt,
                       "Each element of it is one block's: look at the index of the other, which "
                       "has no business there.");
  }
  if (one.block == other.block && is_another_ones_element(call, finding)) {
    return with_advice(finding, std::nullopt,
                       "If each element is one thread's, look at the index of the other, which has "
                       "no business there. If both are to write, a __syncthreads() belongs between "
                       "the two.");
  }
  // One number a row, such as a running mean, is nobody's partner.
  const bool is_in_place = buffer != nullptr && buffer->role == Role::in_place && buffer->cols > 1;
  if (is_in_place && is_written_by_two(run, finding.buffer)) {
    return with_advice(finding, std::nullopt,
                       "Two threads write to one place of it, too, and each element is one's to "
                       "change: look at the index of the other, which has no business there.");
  }
  if (is_in_place) {
    return with_advice(finding, "in-place-race",
                       "Who comes second reads what the first has written: let one thread read "
                       "into registers all that it changes, before it writes any of it.");
  }
  const bool by_barrier = one.block == other.block || finding.missing == Missing::grid_barrier ||
                          finding.missing == Missing::cluster_barrier;
  return {by_barrier ? "missing-barrier" : "unordered-blocks", sentence_of(finding)};
}

bool is_overwriting(const Finding& finding) {
  return finding.kind == Kind::shared_race && mistake_of(finding) == "missing-barrier" &&
         finding.missing != Missing::storage && finding.parties.at(0).action.starts_with("reads") &&
         finding.parties[0].action.find("nobody has written") == std::string::npos &&
         finding.parties.at(1).action.starts_with("writes");
}

Diagnosis explain_overwriting(const Case& call, const Run& run, const Finding& finding) {
  const auto reads = place_in_kernel(finding.parties[0]);
  const auto writes = place_in_kernel(finding.parties[1]);
  const std::string barrier =
      finding.missing == Missing::cluster_barrier ? "cluster.sync()" : "__syncthreads()";
  if (writes == reads && !finding.writes_again) {
    return with_advice(finding, "missing-barrier",
                       "The line reads what another thread writes there. A " + barrier +
                           " must come between: in each turn if it is in a loop, else behind a "
                           "read into a variable.");
  }
  const std::optional<std::string> rows = rows_of_a_block(call, run, finding.kernel);
  if (writes < reads && !finding.writes_again) {
    return {"missing-barrier", sentence_of(finding)};
  }
  if (writes <= reads && rows) {
    return with_advice(finding, "row-loop-race",
                       "A block goes on to the next of its " + *rows +
                           " while some threads still read this one's: put a " + barrier +
                           " at the end of the loop over " + *rows + ".");
  }
  return with_advice(finding, "reused-buffer-race",
                     "The array is used a second time while some threads still read what it held "
                     "the first time: put a " +
                         barrier + " between the two uses.");
}

std::string sentence_on_warning(const Case& call, const Finding& finding) {
  const char* const advice =
      "\nEach element of it is one thread's: look at the index of the other, which has no business "
      "there.";
  if (is_another_ones_element(call, finding)) {
    return account_of(finding) + advice;
  }
  return is_one_number(finding)
             ? account_of(finding) +
                   "\nLet one thread write it: if each has a share, add these up first."
             : sentence_of(finding);
}

}  // namespace onepass::verdict
