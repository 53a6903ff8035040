#include "verdict/session/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "verdict/pattern.h"

namespace onepass::verdict {
namespace {

Status status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::launch_error:
      return Status::launch_error;
    case Outcome::device_error:
      return Status::device_error;
    case Outcome::crashed:
      return Status::crashed;
    case Outcome::timed_out:
      return Status::timed_out;
    case Outcome::ended_early:
      return Status::ended_early;
    case Outcome::out_of_memory:  // the sizes are the grader's choice
    case Outcome::grader_fault:
      return Status::ungraded;
    case Outcome::ok:
      break;
  }
  return Status::failed;
}

const Finding* first_error(const Run& run) {
  const auto found = std::find_if(run.findings.begin(), run.findings.end(),
                                  [](const Finding& finding) { return !finding.warning; });
  return found == run.findings.end() ? nullptr : &*found;
}

bool is_strided(const Case& call, const std::string& buffer) {
  return std::any_of(call.buffers().begin(), call.buffers().end(), [&](const Buffer& candidate) {
    return candidate.name == buffer && candidate.stride() > candidate.cols;
  });
}

/// Out of bounds, in strided rows, and block 0 did nothing of the kind: row 0 starts where it should
/// even for who takes the stride for cols, and the blocks run in order. Or a read of what nobody
/// wrote in a buffer that came with contents: there is nothing of that kind but between its rows.
bool looks_like_ignored_stride(const Case& call, const Finding& finding) {
  if (!is_strided(call, finding.buffer)) {
    return false;
  }
  if (finding.kind == "uninitialised-global") {
    return call.buffer(finding.buffer).role != Role::output;
  }
  return finding.kind == "out-of-bounds-global" && !finding.parties.empty() &&
         finding.parties[0].block != std::array<int, 3>{};
}

constexpr const char* kStrideAdvice =
    "The rows of this call lie further apart than they are long: find a row with its stride, not "
    "with "
    "cols.";

Failure from_finding(const Case& call, const Run& run, const Finding& finding) {
  Failure failure;
  failure.status = finding.is_endless() ? Status::timed_out : status_of(run.outcome);
  failure.message = finding.sentence();
  failure.mistake = finding.mistake();
  failure.location = finding.location();
  if (looks_like_ignored_stride(call, finding)) {
    failure.message = finding.message + "\n" + kStrideAdvice;
    failure.mistake = "stride-ignored";
  }
  return failure;
}

/// Has some output an element that still holds the poison?
bool any_unwritten(const Case& call, const Run& run) {
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.role != Role::output || buffer.null) {
      continue;
    }
    const Matrix& after = run.answer[buffer.name];
    for (std::int64_t row = 0; row < after.rows(); ++row) {
      for (std::int64_t col = 0; col < after.cols(); ++col) {
        if (is_poison(after, row, col, run.answer.poison)) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

std::optional<Failure> judge_ending(const Case& call, const Run& run) {
  const Finding* finding = first_error(run);
  if (run.outcome == Outcome::launch_error) {
    const Diagnosis diagnosis = explain_launch_error(call, run.error);
    Failure failure;
    failure.status = Status::launch_error;
    failure.message =
        (finding != nullptr ? finding->message : run.error) + "\n" + diagnosis.sentence;
    failure.mistake = diagnosis.mistake;
    failure.location = finding != nullptr ? finding->location() : std::nullopt;
    return failure;
  }
  if (finding != nullptr) {
    return from_finding(call, run, *finding);
  }
  if (run.outcome != Outcome::ok) {
    Failure failure;
    failure.status = status_of(run.outcome);
    failure.message = run.error;
    return failure;
  }
  return std::nullopt;
}

std::optional<Failure> judge_memory(const Case& call, const Run& run) {
  Failure failure;
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.role != Role::input || buffer.null) {
      continue;
    }
    const Matrix& after = run.answer[buffer.name];
    if (const auto change = first_change(call.values(buffer.name), after)) {
      failure.where = element_name(buffer.name, after, change->index);
      failure.expected = show(change->before);
      failure.got = show(change->after);
      failure.mistake = "input-modified";
      failure.message = fmt::format("{} is an input, and the call changed {} from {} to {}.",
                                    buffer.name, failure.where, failure.expected, failure.got);
      return failure;
    }
  }
  if (!run.trespasses.empty()) {
    const Trespass& trespass = run.trespasses.front();
    // Who takes the stride for cols writes between the rows, and never gets to the end of the last.
    const bool stride = is_strided(call, trespass.buffer) && any_unwritten(call, run);
    failure.mistake = stride ? "stride-ignored" : "no-tail-mask";
    failure.message = fmt::format(
        "Memory that does not belong to {} was written: {}.\n{}", trespass.buffer, trespass.where,
        stride ? kStrideAdvice : "Check the index against the number of rows or columns.");
    return failure;
  }
  return std::nullopt;
}

Failure wrong_numbers(const Case& call, const std::string& output, const Matrix& got,
                      const Field& value, const Field& bound, const Comparison& comparison,
                      const std::vector<Oracle>& oracles) {
  Failure failure;
  failure.where = element_name(output, got, comparison.worst);
  failure.expected = show(comparison.expected);
  failure.got = show(comparison.got);
  failure.pattern = describe(comparison.wrong_mask).text;
  if (std::isfinite(comparison.error_over_bound)) {
    failure.error_over_bound = comparison.error_over_bound;
  }
  std::optional<Diagnosis> diagnosis = explain(call, output, got, value, bound, oracles);
  if (!diagnosis) {
    diagnosis = explain_pattern(output, comparison);
  }
  failure.message =
      fmt::format("{} is {}, expected {}", failure.where, failure.got, failure.expected);
  if (failure.error_over_bound) {
    failure.message += fmt::format(", {:.3g} times the bound", *failure.error_over_bound);
  }
  failure.message += fmt::format(" (wrong: {}).", failure.pattern);
  if (diagnosis) {
    failure.message += "\n" + diagnosis->sentence;
    failure.mistake = diagnosis->mistake;
  }
  return failure;
}

}  // namespace onepass::verdict
