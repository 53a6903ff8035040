#include "verdict/session/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verdict/contract/call.h"
#include "verdict/pattern.h"
#include "verdict/session/explain_finding.h"

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

Failure from_finding(const Case& call, const Run& run, const Finding& finding) {
  const Meaning meaning = explain_finding(call, run, finding);
  Failure failure;
  failure.status = is_endless(finding) ? Status::timed_out : status_of(run.outcome);
  failure.message = meaning.sentence;
  failure.mistake = meaning.mistake;
  failure.location = location_of(finding);
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

/// Are all wrong elements in rows that an `int` cannot find?
bool only_far_rows_wrong(const Case& call, const Comparison& comparison) {
  const std::optional<std::int64_t> far = first_far_row(call);
  if (!far) {
    return false;
  }
  for (std::int64_t row = 0; row < std::min(*far, comparison.wrong_mask.rows); ++row) {
    for (std::int64_t col = 0; col < comparison.wrong_mask.cols; ++col) {
      if (comparison.wrong_mask(row, col)) {
        return false;
      }
    }
  }
  return true;
}

/// Is every wrong element of a tensor that is changed in place what it was before the call?
bool left_as_it_was(const Case& call, const std::string& output, const Matrix& got,
                    const Comparison& comparison) {
  if (call.buffer(output).role != Role::in_place) {
    return false;
  }
  const Matrix before = call.values(output);
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      if (comparison.wrong_mask(row, col) && got.get(row, col) != before.get(row, col)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<Failure> judge_ending(const Case& call, const Run& run) {
  const Finding* finding = telling_error(run.findings);
  if (run.outcome == Outcome::launch_error) {
    const Diagnosis diagnosis = explain_launch_error(call, run.error);
    Failure failure;
    failure.status = Status::launch_error;
    failure.message =
        (finding != nullptr ? account_of(*finding) : run.error) + "\n" + diagnosis.sentence;
    failure.mistake = diagnosis.mistake;
    failure.location = finding != nullptr ? location_of(*finding) : std::nullopt;
    return failure;
  }
  if (finding != nullptr) {
    return from_finding(call, run, *finding);
  }
  if (run.outcome != Outcome::ok) {
    Failure failure;
    failure.status = status_of(run.outcome);
    failure.message = run.error;
    if (run.outcome == Outcome::device_error && first_far_row(call) &&
        run.error.find("IllegalAddress") != std::string::npos) {
      failure.mistake = "index-overflow";
      failure.message += std::string("\n") + kOverflowAdvice;
    }
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
    const bool scratch = contract::is_scratch(call, trespass.buffer);
    const bool stride = call.is_strided(trespass.buffer) && any_unwritten(call, run);
    failure.mistake = scratch ? "scratch-overrun" : stride ? "stride-ignored" : "no-tail-mask";
    failure.message = fmt::format(
        "Memory that does not belong to {} was written: {}.\n{}", trespass.buffer, trespass.where,
        scratch  ? scratch_advice(trespass.buffer)
        : stride ? stride_advice(call, trespass.buffer)
                 : "Check the index against the number of rows or columns.");
    return failure;
  }
  return std::nullopt;
}

Failure wrong_numbers(const Case& call, const std::string& output, const Matrix& got,
                      const Field& value, const Field& bound, const Comparison& comparison,
                      const std::vector<Oracle>& oracles, const std::optional<Finding>& doubt) {
  Failure failure;
  failure.where = element_name(output, got, comparison.worst);
  failure.expected = show(comparison.expected);
  failure.got = show(comparison.got);
  failure.pattern = describe(comparison.wrong_mask).text;
  if (std::isfinite(comparison.error_over_bound)) {
    failure.error_over_bound = comparison.error_over_bound;
  }
  std::optional<Diagnosis> diagnosis = explain(call, output, got, value, bound, oracles);
  if (!diagnosis && only_far_rows_wrong(call, comparison)) {
    diagnosis = Diagnosis{"index-overflow", kOverflowAdvice};
  }
  if (!diagnosis && left_as_it_was(call, output, got, comparison)) {
    diagnosis = Diagnosis{"output-partly-written",
                          "These elements are as they were before the call: nobody changed them."};
  }
  // A lane that is not there gives NaN in the simulator.
  const bool undefined = doubt && std::isnan(comparison.got) && comparison.unwritten == 0;
  if (!diagnosis && !undefined) {
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
  } else if (doubt) {
    failure.message += "\n" + sentence_of(*doubt);
    failure.mistake = mistake_of(*doubt);
    failure.location = location_of(*doubt);
  }
  return failure;
}

}  // namespace onepass::verdict
