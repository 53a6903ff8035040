// Why a call went wrong, by further calls of the student's function. Nothing of them counts, or is
// told.
#include <algorithm>
#include <iterator>
#include <utility>

#include "verdict/compare.h"
#include "verdict/contract/call.h"
#include "verdict/session/boundary.h"
#include "verdict/session/dependence.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/judge.h"
#include "verdict/session/matter.h"
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

constexpr double kPatience = 1.0;        // seconds for a launch
constexpr double kMostBytes = 64 << 20;  // of a call whose results are all worked out once more

/// Does the failure say more than what is seen?
bool has_reason(const Failure& failure) {
  constexpr const char* kWhatIsSeen[] = {"accumulated-into-garbage", "output-partly-written",
                                         "launch-failed", "not-started"};
  const bool is_named = failure.mistake && !failure.is_bare &&
                        std::find(std::begin(kWhatIsSeen), std::end(kWhatIsSeen),
                                  *failure.mistake) == std::end(kWhatIsSeen);
  return is_named || !failure.possible.empty() || failure.status == Status::timed_out;
}

/// Are the numbers off by a little? Then another call may be right by chance.
bool is_slight(const Case& call, const Failure& failure) {
  const Buffer* output = call.find(failure.where.substr(0, failure.where.find('[')));
  return failure.error_over_bound.value_or(kTelling) < kTelling &&
         (output == nullptr || output->dtype == Dtype::fp32);
}

bool has_null(const Case& call) {
  return std::any_of(call.buffers().begin(), call.buffers().end(),
                     [](const Buffer& buffer) { return buffer.null; });
}

}  // namespace

/// Nothing once one has taken too long.
std::optional<Run> Session::retry(const Case& call) {
  if (check_.out_of_patience || is_out_of_time()) {
    return std::nullopt;
  }
  Run run = timed([&] { return worker_->run(call, {}, kPatience); });
  check_.out_of_patience =
      run.outcome == Outcome::timed_out ||
      std::any_of(run.findings.begin(), run.findings.end(),
                  [](const Finding& finding) { return finding.kind == Kind::endless_loop; });
  return run;
}

/// A __syncwarp() helps only if two threads that race are in one warp in every call.
void Session::look_for_wider_race(const Case& call, Run& run) {
  const Finding* told = telling_error(run.findings);
  if (told == nullptr || told->missing != Missing::syncwarp || call.contract() == nullptr) {
    return;
  }
  check_.causes_left = !check_.find_causes;
  if (!check_.find_causes) {
    return;
  }
  bool any_tried = false;
  const Observe observe = [&](const Case& other) {
    const std::optional<Run> tried = retry(other);
    any_tried = any_tried || tried;
    return tried ? tried->findings : std::vector<Finding>();
  };
  Finding& race = run.findings[static_cast<std::size_t>(told - run.findings.data())];
  if (reaches_other_warps(call, *told, observe)) {
    race.missing = Missing::barrier;
    race.message += " In other shapes two warps race at these lines.";
  } else if (!any_tried) {  // of so large a call
    race.message +=
        " If threads of two warps can come to these lines for one place, it takes a "
        "__syncthreads().";
  }
}

/// The answer of a retry() that comes to a good end.
std::optional<Answer> Session::try_out(const Case& call) {
  std::optional<Run> run = retry(call);
  const bool good =
      run && !judge_ending(call, *run, kNobodyAsked) && !judge_memory(call, *run, kNobodyAsked);
  return good ? std::optional(std::move(run->answer)) : std::nullopt;
}

void Session::give_reasons(const Case& call, const Outputs& outputs,
                           const std::vector<Oracle>& oracles, const std::function<void()>& work) {
  try {
    work();
  } catch (const CheckFailed&) {
    look_past_the_end(call, outputs, oracles);
    look_for_matter(call, outputs);
    throw;
  }
}

/// Who reads past the end of a table may look for a row where it is not. If more rows are there,
/// that gives wrong numbers, and they tell.
void Session::look_past_the_end(const Case& call, const Outputs& outputs,
                                const std::vector<Oracle>& oracles) {
  const std::optional<Case> longer = call.span_bytes() > kMostBytes
                                         ? std::nullopt
                                         : contract::with_more_rows(call, check_.failure->past);
  check_.causes_left = check_.causes_left || (longer && !check_.find_causes);
  const std::optional<Answer> answer =
      longer && check_.find_causes ? try_out(*longer) : std::nullopt;
  for (std::size_t i = 0; answer && i < outputs.size(); ++i) {
    const Expectation right = outputs[i](*longer);
    if ((*answer)[right.output].rows() != right.value.rows) {
      continue;  // no table: its rows are those of the result
    }
    const Comparison comparison =
        verdict::compare((*answer)[right.output], right.value, right.bound, answer->poison);
    const Causes causes =
        comparison.right() ? Causes{}
                           : find_causes({*longer, *answer, right, comparison}, outputs[i], oracles,
                                         [this](const Case& other) { return try_out(other); });
    if (causes.confirmed && causes.mistakes.size() == 1) {
      const Diagnosis& cause = causes.mistakes.front();
      check_.failure = with_reason(*check_.failure, cause.mistake->c_str(), cause.sentence);
      return;
    }
  }
}

/// Who has no other reason is told what it is a matter of: first what would say the most.
void Session::look_for_matter(const Case& call, const Outputs& outputs) {
  Failure& failure = *check_.failure;
  const bool is_known = has_reason(failure);
  const bool is_open = !is_known || (failure.error_over_bound && has_null(call));
  if (!is_open || call.contract() == nullptr || !check_.find_causes) {
    check_.causes_left = check_.causes_left || is_open;
    return;
  }
  const IsRight is_right = [&](const Case& other) {
    const std::optional<Run> run = retry(other);
    const bool ended =
        run && !judge_ending(other, *run, kNobodyAsked) && !judge_memory(other, *run, kNobodyAsked);
    bool tells = false;  // of results that are all 0 many a kernel is right
    const bool all_right =
        ended && std::all_of(outputs.begin(), outputs.end(), [&](const auto& of) {
          const auto [output, value, bound] = of(other);
          tells = tells || std::any_of(value.values.begin(), value.values.end(),
                                       [](double number) { return number != 0.0; });
          return verdict::compare(run->answer[output], value, bound, run->answer.poison).right();
        });
    return run && (tells || !all_right) ? std::optional(all_right) : std::nullopt;
  };
  const auto add = [&](const std::optional<std::string>& matter) {
    failure.message += matter ? "\n" + *matter : "";
  };
  if (is_known) {  // of numbers: where is it so?
    add(matter_of_null(call, is_right));
    return;
  }
  if (is_slight(call, failure)) {
    add(matter_of_scalar(call, is_right));
    return;
  }
  const std::optional<Case> apart = contract::not_in_place(call);
  if (apart && is_right(*apart) == true) {
    failure.message +=
        "\nWith outputs of their own, and not over inputs, the same call is right: look at what is "
        "read again after it was written over.";
  }
  std::optional<std::string> matter = matter_of_null(call, is_right);
  matter = matter ? matter : matter_of_scalar(call, is_right);
  matter = matter ? matter : matter_of_rounding(call, is_right);
  matter = matter ? matter : matter_of_lost_alignment(call, is_right);
  matter = matter ? matter : matter_of_place(call, is_right);
  matter = matter ? matter : matter_of_two_sizes(call, is_right);
  matter = matter ? matter : matter_of_powers_of_two(call, is_right);
  const auto depends = [&](const Case& at) {
    const Attempt attempt = [&](const Case& other) { return try_out(other); };
    std::optional<std::string> told;
    for (const Expected& expected : outputs) {
      if (!told && expected(at).output == failure.where.substr(0, failure.where.find('['))) {
        told = unused_inputs(at, expected, attempt);
        told = told ? told : miscounted_elements(at, expected, attempt);
        told = told ? told : foreign_rows(at, expected, attempt);
      }
    }
    return told;
  };
  if (!matter) {
    matter = depends(call);
    if (const std::optional<Boundary> found = find_boundary(call, is_right)) {
      const std::optional<Run> right = retry(found->last_right);
      const std::optional<Run> wrong = right ? retry(found->first_wrong) : std::nullopt;
      std::string why = wrong ? found->in_blocks(threads_of(*wrong).blocks()) : "";
      why = why.empty() && wrong ? in_launches(*right, *wrong) : why;
      matter = matter ? matter : depends(found->first_wrong);
      matter = matter ? matter : matter_of_small_sizes(call, is_right);
      matter = (matter ? *matter + "\n" : "") + found->sentence() + (why.empty() ? "" : " " + why);
    }
  }
  matter = matter ? matter : matter_of_input(call, is_right, [&](const Case& other) {
    return std::any_of(outputs.begin(), outputs.end(), [&](const auto& of) {
      const std::vector<double> values = of(other).value.values;
      return std::count(values.begin(), values.end(), 0.0) < std::ssize(values) / 2;
    });
  });
  matter = matter ? matter : matter_of_one_address(call, is_right);
  if (const std::optional<std::string> aligned = matter_of_alignment(call, is_right)) {
    matter = (matter ? *matter + "\n" : "") + *aligned;
  }
  add(matter ? matter : matter_of_small_sizes(call, is_right));
}

/// Of numbers that no mistake explains.
std::optional<Diagnosis> Session::explain_parts(
    const WrongOutput& wrong, const std::function<Expectation(const Case&)>& expected,
    const Threads& threads) {
  const TryAgain again = [&](const Case& other) {
    const std::optional<Run> run = retry(other);
    if (!run || judge_ending(other, *run, kNobodyAsked)) {
      return std::optional<std::pair<Comparison, Threads>>();
    }
    const auto [output, value, bound] = expected(other);
    return std::optional(std::pair(
        verdict::compare(run->answer[output], value, bound, run->answer.poison), threads_of(*run)));
  };
  std::optional<Diagnosis> cause = explain_hidden(wrong);
  cause = cause ? cause : explain_spread(wrong, again);
  cause = cause ? cause : explain_lost_in_mean(wrong, expected, again);
  cause = cause ? cause : explain_empty_threads(wrong, threads, again);
  cause = cause ? cause : explain_lost_rows(wrong, expected);
  return cause ? cause : explain_first_turn(wrong, threads, again);
}

/// What the simulator warned of is no reason if the numbers are wrong without it too.
void Session::drop_doubt(const Case& call,
                         const std::function<Expectation(const Case&)>& expected) {
  const auto wrong_without = [&](const Case& other) {
    const std::optional<Run> run = retry(other);
    if (!run || run->outcome != Outcome::ok || telling_error(run->findings) != nullptr ||
        telling_warning(run->findings) != nullptr) {
      return false;
    }
    const auto [output, value, bound] = expected(other);
    return !verdict::compare(run->answer[output], value, bound, run->answer.poison).right();
  };
  if (check_.doubt && in_another_shape(call, wrong_without)) {
    check_.doubt.reset();
  }
}

GoesWell Session::goes_right(const Outputs& outputs) {
  return [this, outputs](const Case& other) {
    const std::optional<Answer> answer = try_out(other);
    return answer && std::all_of(outputs.begin(), outputs.end(), [&](const auto& expected) {
             const auto [output, value, bound] = expected(other);
             return verdict::compare((*answer)[output], value, bound, answer->poison).right();
           });
  };
}

}  // namespace onepass::verdict
