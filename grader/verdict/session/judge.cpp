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
    case Outcome::too_much_memory:
      return Status::ended_early;
    case Outcome::out_of_memory:  // the sizes are the grader's choice
    case Outcome::refused:
    case Outcome::grader_fault:
      return Status::ungraded;
    case Outcome::ok:
      break;
  }
  return Status::failed;
}

/// Is there work for a kernel in that call, that is, is no size of it 0?
bool has_work(const Case& call) {
  return call.contract() != nullptr &&
         std::all_of(call.contract()->sizes.begin(), call.contract()->sizes.end(),
                     [&](const contract::Size& size) {
                       return !size.is_argument || call.integer(size.name) > 0;
                     });
}

/// The first result that differs from what its memory held before the call, or nullptr.
const Buffer* first_written(const Case& call, const Run& run) {
  for (const Buffer& buffer : call.buffers()) {
    const contract::Tensor* tensor = call.contract()->find(buffer.name);
    if (buffer.role == Role::input || buffer.null || !tensor->is_data()) {
      continue;
    }
    const std::vector<std::byte>& after = run.answer[buffer.name].bytes();
    const std::vector<std::byte> before =
        buffer.role == Role::in_place
            ? call.values(buffer.name).bytes()
            : std::vector(after.size(), static_cast<std::byte>(run.answer.poison));
    if (after != before) {
      return &buffer;
    }
  }
  return nullptr;
}

template <typename Test>
bool any_element(const Matrix& matrix, Test test) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (std::int64_t col = 0; col < matrix.cols(); ++col) {
      if (test(row, col)) {
        return true;
      }
    }
  }
  return false;
}

/// Has some output an element that still holds the poison?
bool any_unwritten(const Case& call, const Answer& answer) {
  return std::any_of(call.buffers().begin(), call.buffers().end(), [&](const Buffer& buffer) {
    return buffer.role == Role::output && !buffer.null &&
           any_element(answer[buffer.name], [&](auto row, auto col) {
             return is_poison(answer[buffer.name], row, col, answer.poison);
           });
  });
}

/// Are all wrong elements in rows that an `int` cannot find?
bool only_far_rows_wrong(const Case& call, const Comparison& comparison) {
  const std::optional<std::int64_t> far = first_far_row(call);
  if (!far) {
    return false;
  }
  const Mask& wrong = comparison.wrong_mask;
  const auto end = wrong.values.begin() + std::min(*far, wrong.rows) * wrong.cols;
  return std::find(wrong.values.begin(), end, 1) == end;
}

const char* const kErrorLeftAdvice =
    "No launch was refused: another call of the launcher has left this error, and whoever comes "
    "next takes it for one of their own. cudaFuncSetAttribute(), for instance, allows no more "
    "shared memory than a block can have (cudaDevAttrMaxSharedMemoryPerBlockOptin). Ask for no "
    "more than there is, or take the error away with cudaGetLastError().";

/// Is every wrong element 0?
bool is_all_zero(const Matrix& got, const Comparison& comparison) {
  return !any_element(got, [&](auto row, auto col) {
    return comparison.wrong_mask(row, col) != 0 && got.get(row, col) != 0.0;
  });
}

/// Is every wrong element of a tensor that is changed in place what it was before the call?
bool left_as_it_was(const Case& call, const std::string& output, const Matrix& got,
                    const Comparison& comparison) {
  if (call.buffer(output).role != Role::in_place) {
    return false;
  }
  const Matrix before = call.values(output);
  return !any_element(got, [&](auto row, auto col) {
    return comparison.wrong_mask(row, col) != 0 && got.get(row, col) != before.get(row, col);
  });
}

}  // namespace

std::optional<Failure> judge_ending(const Case& call, const Run& run, const GoesWell& goes_well) {
  const Finding* finding = run.outcome == Outcome::launch_error ? refused_launch(run.findings)
                                                                : telling_error(run.findings);
  if (run.outcome == Outcome::ok && finding == nullptr) {
    return std::nullopt;
  }
  Failure failure{status_of(run.outcome), run.error};
  failure.took_memory = run.outcome == Outcome::too_much_memory;
  if (finding != nullptr) {
    failure.location = location_of(*finding);
  }
  const bool is_copy = finding != nullptr && finding->kind == Kind::refused_copy;
  if (run.outcome == Outcome::launch_error && !is_copy) {
    const std::string error = run.error + (finding != nullptr ? finding->message : "");
    // On the simulator a launch that is refused is a finding.
    const bool all_launched = finding == nullptr && !run.traffic.empty();
    const Diagnosis diagnosis =
        !is_out_of_memory(error) && first_far_row(call) && goes_well_nearer(call, goes_well)
            ? Diagnosis{"index-overflow", kOverflowAdvice}
        : all_launched ? Diagnosis{"launch-failed", kErrorLeftAdvice}
                       : explain_launch_error(call, error);
    failure.message =
        (finding != nullptr ? account_of(*finding) : run.error) + "\n" + diagnosis.sentence;
    failure.mistake = diagnosis.mistake;
  } else if (finding != nullptr) {
    const Diagnosis meaning = explain_finding(call, run, *finding, goes_well);
    failure.status = is_endless(*finding) ? Status::timed_out : failure.status;
    failure.message = meaning.sentence;
    failure.mistake = meaning.mistake;
    failure.past = finding->kind == Kind::out_of_bounds_global ? finding->buffer : "";
    failure.is_just_past = is_just_past(call, *finding);
    failure.is_bare = (finding->kind == Kind::out_of_bounds_global ||
                       finding->kind == Kind::out_of_bounds_shared ||
                       finding->kind == Kind::uninitialised_shared) &&
                      meaning.sentence == sentence_of(*finding);
  } else if (run.outcome == Outcome::device_error && first_far_row(call) &&
             run.error.find("IllegalAddress") != std::string::npos &&
             goes_well_nearer(call, goes_well)) {
    failure.mistake = "index-overflow";
    failure.message += std::string("\n") + kOverflowAdvice;
  }
  return failure;
}

std::optional<Failure> judge_without_launches(const Run& run) {
  if (run.outcome != Outcome::ok || run.traffic.empty()) {
    return std::nullopt;
  }
  return Failure{.message = fmt::format("In this call the device refused the launch of {}, and "
                                        "whoever calls the launcher finds no error: "
                                        "cudaGetLastError() takes the error away, and "
                                        "cudaPeekAtLastError() leaves it.",
                                        run.traffic.front().kernel),
                 .mistake = "error-taken-away"};
}

std::optional<Failure> judge_launches(const Case& call, const Run& run) {
  const bool idle = run.traffic.empty() && has_work(call);
  const Buffer* written = idle ? first_written(call, run) : nullptr;
  if (written == nullptr) {
    return std::nullopt;
  }
  return Failure{.message = fmt::format("{} was written, but no kernel was launched: results must "
                                        "be computed by a kernel of yours.",
                                        written->name),
                 .mistake = "no-kernel-launched"};
}

std::optional<Failure> judge_memory(const Case& call, const Run& run, const GoesWell& goes_well) {
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.role != Role::input || buffer.null) {
      continue;
    }
    const Matrix& after = run.answer[buffer.name];
    if (const auto change = first_change(call.values(buffer.name), after)) {
      Failure failure{.mistake = "input-modified",
                      .where = element_name(buffer.name, after, change->index),
                      .expected = show(change->before, change->after),
                      .got = show(change->after, change->before)};
      const bool is_input = has_work(call) || call.contract() == nullptr;
      failure.message =
          fmt::format("{}, and the call changed {} from {} to {}.",
                      is_input ? buffer.name + " is an input" : "There is nothing to do",
                      failure.where, failure.expected, failure.got);
      return failure;
    }
  }
  if (run.trespasses.empty()) {
    return std::nullopt;
  }
  const auto& [buffer, where] = run.trespasses.front();
  Failure failure{.message = fmt::format("Memory that does not belong to {} was written: {}.\n",
                                         buffer, where)};
  if (contract::is_scratch(call, buffer)) {
    failure.mistake = "scratch-overrun";
    failure.message += scratch_advice(buffer);
  } else if (call.is_strided(buffer)) {
    // Who takes the stride for cols writes between the rows, and never gets to the end of the last.
    const Densely densely = goes_densely(call, goes_well);
    const bool well = densely == Densely::well ||
                      (densely == Densely::well_in_another_way && any_unwritten(call, run.answer));
    failure.mistake = well                        ? std::optional<std::string>("stride-ignored")
                      : densely == Densely::badly ? std::optional<std::string>("no-tail-mask")
                                                  : std::nullopt;
    failure.message += well ? stride_advice(call, buffer) : place_advice(call, buffer);
  } else {
    failure.mistake = "no-tail-mask";
    failure.message += "Check the index against the sizes of the tensor.";
  }
  return failure;
}

Failure wrong_numbers(const WrongOutput& wrong, const Causes& causes,
                      const std::optional<Finding>& doubt, const GoesWell& goes_well,
                      const std::function<std::optional<Diagnosis>()>& explain_parts) {
  const auto& [call, answer, expectation, comparison, of_smaller] = wrong;
  const std::string& output = expectation.output;
  const Matrix& got = answer[output];
  Failure failure{.where = element_name(output, got, comparison.worst),
                  .expected = show(comparison.expected, comparison.got),
                  .got = show(comparison.got, comparison.expected),
                  .pattern = describe(comparison.wrong_mask).text};
  if (std::isfinite(comparison.error_over_bound)) {
    failure.error_over_bound = comparison.error_over_bound;
  }
  std::optional<Diagnosis> cause;
  if (causes.confirmed && causes.mistakes.size() == 1) {
    cause = causes.mistakes.front();
  } else if (!causes.mistakes.empty()) {
    failure.possible = causes.mistakes;
    failure.mistake = causes.confirmed ? causes.mistakes.front().mistake : std::nullopt;
  } else if (only_far_rows_wrong(call, comparison) && goes_well_nearer(call, goes_well)) {
    cause = Diagnosis{"index-overflow", kOverflowAdvice};
  } else if (left_as_it_was(call, output, got, comparison)) {
    cause = Diagnosis{"output-partly-written", "These elements are as they were before the call."};
  } else if (!doubt || !std::isnan(comparison.got) || comparison.unwritten > 0) {
    cause = explain_pattern(call, output, comparison,  // but a lane that is not there gives NaN
                            [&, &call = call] { return goes_well_in_whole(call, goes_well); });
    cause = cause || comparison.unwritten > 0 ? cause : explain_parts();
    if (!cause && comparison.unwritten == 0 && is_all_zero(got, comparison)) {
      cause = Diagnosis{std::nullopt,
                        "Every wrong element is 0: is a factor of it 0, as 1 / cols is where both "
                        "are integers, or is nothing added up?"};
    }
  }
  failure.message =
      fmt::format("{} is {}, expected {}", failure.where, failure.got, failure.expected);
  if (failure.error_over_bound) {
    failure.message += fmt::format(", {:.3g} times the bound", *failure.error_over_bound);
  }
  failure.message += fmt::format(" (wrong: {}).", failure.pattern);
  if (cause) {
    failure.message += "\n" + cause->sentence;
    failure.mistake = cause->mistake;
  } else if (doubt && failure.possible.empty()) {
    Finding told = *doubt;
    told.warning = false;  // it is about this call: who took part, and who called, is told as well
    failure.message += "\n" + sentence_of(told);
    failure.mistake = mistake_of(*doubt);
    failure.location = location_of(*doubt);
  }
  return failure;
}

}  // namespace onepass::verdict
