#include "verdict/session/explain_finding.h"

#include <algorithm>

#include "verdict/contract/call.h"
#include "verdict/diagnosis.h"

namespace onepass::verdict {

const char* const kOverflowAdvice =
    "In this call row * stride is beyond 2^31: compute it in 64 bits, as int64_t.";

namespace {

/// What the function calls the number of its columns.
std::string columns_of(const Case& call, const std::string& buffer) {
  const contract::Tensor* tensor =
      call.contract() == nullptr ? nullptr : call.contract()->find(buffer);
  return tensor == nullptr ? "cols" : tensor->cols.text();
}

}  // namespace

std::string stride_advice(const Case& call, const std::string& buffer) {
  return "The rows of this call lie further apart than they are long: find a row with its stride, "
         "not with " +
         columns_of(call, buffer) + " or another tensor's stride.";
}

std::string scratch_advice(const std::string& buffer) {
  return buffer +
         " has room for a limited number of groups of rows, and for no more than there are rows: "
         "take no more groups than the header grants.";
}

namespace {

constexpr std::int64_t kBeyondInt = std::int64_t{1} << 31;

bool is_far(const Buffer& buffer) {
  return !buffer.null && buffer.rows > 1 && (buffer.rows - 1) * buffer.stride() >= kBeyondInt;
}

bool is_any(const Finding& finding, std::initializer_list<Kind> kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [&](Kind kind) { return finding.kind == kind; });
}

const Finding* first_of_kind(const std::vector<Finding>& findings, Kind kind) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.kind == kind; });
  return found == findings.end() ? nullptr : &*found;
}

/// An address far from every buffer, in a call whose offsets do not fit an int. An index that
/// counts from the start of the far buffer is no overflow, which leads to before the start.
bool is_overflow(const Case& call, const Finding& finding) {
  if (!first_far_row(call) ||
      !is_any(finding, {Kind::out_of_bounds_global, Kind::use_after_free, Kind::host_pointer})) {
    return false;
  }
  const Buffer* buffer = call.find(finding.buffer);
  return buffer == nullptr || !is_far(*buffer) || finding.index < 0;
}

/// A read between two rows, or out of bounds where the rows have gaps.
bool misses_strided_rows(const Case& call, const Finding& finding) {
  if (!call.is_strided(finding.buffer)) {
    return false;
  }
  const Buffer& buffer = call.buffer(finding.buffer);
  const bool in_gap = finding.kind == Kind::uninitialised_global && finding.index >= 0 &&
                      finding.index % buffer.stride() >= buffer.cols;
  return in_gap || finding.kind == Kind::out_of_bounds_global;
}

/// Row 0 starts where it should even for who takes the stride for cols, and both blocks and rows
/// come in order: who goes wrong in block 0, in row 0, may as well have run past the end of a row.
/// Between rows that lie very far apart nobody looks, so there only the block tells.
bool is_beyond_row_0(const Case& call, const Finding& finding) {
  const Buffer& buffer = call.buffer(finding.buffer);
  const bool later_row = !is_far(buffer) && finding.index >= buffer.stride();
  return later_row || (!finding.parties.empty() && finding.parties[0].block != simulator::Dim3{});
}

/// Two threads change one place, or one reads what the other changes.
std::optional<Meaning> explain_global_race(const Case& call, const Finding& finding) {
  if (finding.kind != Kind::global_race || finding.parties.size() != 2) {
    return std::nullopt;
  }
  const Party& one = finding.parties[0];
  const Party& other = finding.parties[1];
  if (one.line == other.line && one.file == other.file) {
    return Meaning{"lost-updates",
                   account_of(finding) +
                       "\nBoth threads change it there, and of two that come at once one is lost: "
                       "use an atomic, or let each have a place of its own, and add those up."};
  }
  const Buffer* buffer = call.find(finding.buffer);
  if (buffer != nullptr && buffer->role == Role::in_place) {
    return Meaning{"in-place-race",
                   account_of(finding) +
                       "\nWho comes second reads what the first has written: let one thread read "
                       "into registers all that it changes, before it writes any of it."};
  }
  return Meaning{one.block == other.block ? "missing-barrier" : "unordered-blocks",
                 sentence_of(finding)};
}

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

std::int64_t blocks_of(const LaunchTraffic& launch) {
  return std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
}

/// The rows that a block does several of, by their name: those that are more than some launch of
/// the kernel has blocks. Nothing if each block does one.
std::optional<std::string> rows_of_a_block(const Case& call, const Run& run,
                                           const std::string& kernel) {
  if (call.contract() == nullptr) {
    return std::nullopt;
  }
  for (const LaunchTraffic& launch : run.traffic) {
    for (const std::string& rows : call.contract()->row_sizes()) {
      if (launch.kernel == kernel && blocks_of(launch) < call.integer(rows)) {
        return rows;
      }
    }
  }
  return std::nullopt;
}

/// A slot was read, and then overwritten before all had read it. Nothing for other races: those of
/// one warp, and reads that came before the first write.
std::optional<Meaning> explain_overwriting(const Case& call, const Run& run,
                                           const Finding& finding) {
  if (finding.kind != Kind::shared_race || mistake_of(finding) != "missing-barrier" ||
      !begins_with(finding.parties.at(0).action, "reads") ||
      finding.parties[0].action.find("nobody has written") != std::string::npos ||
      !begins_with(finding.parties.at(1).action, "writes")) {
    return std::nullopt;
  }
  const bool goes_back = finding.parties[1].line <= finding.parties[0].line;
  const std::optional<std::string> rows = rows_of_a_block(call, run, finding.kernel);
  if (goes_back && rows) {
    return Meaning{"row-loop-race", account_of(finding) + "\nA block goes on to the next of its " +
                                        *rows +
                                        " while some threads still read this one's: put a "
                                        "__syncthreads() at the end of the loop over " +
                                        *rows + "."};
  }
  return Meaning{"reused-buffer-race",
                 account_of(finding) +
                     "\nThe array is used a second time while some threads still read what it held "
                     "the first time: put a __syncthreads() between the two uses."};
}

}  // namespace

std::optional<std::int64_t> first_far_row(const Case& call) {
  std::optional<std::int64_t> first;
  for (const Buffer& buffer : call.buffers()) {
    if (is_far(buffer)) {
      const std::int64_t row = (kBeyondInt + buffer.stride() - 1) / buffer.stride();
      first = std::min(first.value_or(row), row);
    }
  }
  return first;
}

const Finding* telling_error(const std::vector<Finding>& findings) {
  const auto is_error = [](const Finding& finding) { return !finding.warning; };
  const auto first = std::find_if(findings.begin(), findings.end(), is_error);
  if (first == findings.end()) {
    return nullptr;
  }
  if (is_any(*first, {Kind::shared_race, Kind::global_race, Kind::uninitialised_shared,
                      Kind::uninitialised_global})) {
    const auto barrier = std::find_if(first, findings.end(), [&](const Finding& finding) {
      return is_error(finding) && is_any(finding, {Kind::barrier_divergence, Kind::deadlock});
    });
    return barrier == findings.end() ? &*first : &*barrier;
  }
  return &*first;
}

const Finding* early_return(const std::vector<Finding>& findings) {
  return first_of_kind(findings, Kind::early_return);
}

const Finding* telling_warning(const std::vector<Finding>& findings) {
  const Finding* returned = early_return(findings);
  return returned != nullptr ? returned : first_of_kind(findings, Kind::inactive_lane_read);
}

Meaning explain_finding(const Case& call, const Run& run, const Finding& finding) {
  if (is_overflow(call, finding)) {
    return {"index-overflow", account_of(finding) + "\n" + kOverflowAdvice};
  }
  if (finding.kind == Kind::out_of_bounds_global && contract::is_scratch(call, finding.buffer)) {
    return {"scratch-overrun", account_of(finding) + "\n" + scratch_advice(finding.buffer)};
  }
  if (misses_strided_rows(call, finding)) {
    if (is_beyond_row_0(call, finding)) {
      return {"stride-ignored", account_of(finding) + "\n" + stride_advice(call, finding.buffer)};
    }
    if (finding.kind == Kind::uninitialised_global) {
      return {std::nullopt,
              account_of(finding) + "\nThat lies between two rows: check the column against " +
                  columns_of(call, finding.buffer) + ", and find each row with its stride."};
    }
  }
  if (finding.kind == Kind::out_of_bounds_shared && finding.index >= kMostThreads) {
    return {
        "shared-row-too-big",
        account_of(finding) +
            "\nA row may be longer than any array in shared memory: keep a part of it there, or "
            "read it again."};
  }
  // Lanes that returned cannot take part in a shuffle, and the slots of their warps stay empty.
  const Finding* returned = early_return(run.findings);
  if (returned != nullptr &&
      is_any(finding, {Kind::inactive_lane_read, Kind::uninitialised_shared})) {
    return {mistake_of(*returned), account_of(finding) + "\n" + sentence_of(*returned)};
  }
  if (const std::optional<Meaning> race = explain_global_race(call, finding)) {
    return *race;
  }
  if (const std::optional<Meaning> overwriting = explain_overwriting(call, run, finding)) {
    return *overwriting;
  }
  return {mistake_of(finding), sentence_of(finding)};
}

}  // namespace onepass::verdict
