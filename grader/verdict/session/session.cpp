#include "verdict/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "verdict/compare.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/judge.h"
#include "verdict/traffic.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

constexpr std::size_t kMostLaunches = 400;
constexpr std::size_t kLongestName = 4096;

Session* running_session = nullptr;  // only Session::Running changes it

/// changed: what the outputs held is a result too, and may have been written again.
Failure not_started(const std::string& outputs, bool launched, bool changed) {
  const std::string message =
      launched && changed ? fmt::format("What was in {} is still there after the call.", outputs)
                          : fmt::format("Nothing was written to {}{}.", outputs,
                                        launched ? "" : ": no kernel was launched");
  return {.status = Status::not_started, .message = message, .mistake = "not-started"};
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
      worker_(std::make_unique<WorkerClient>(settings_.worker, settings_.device)) {}

Session::~Session() = default;

Session::Running::Running(Session& session) {
  running_session = &session;
}

Session::Running::~Running() {
  running_session = nullptr;
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
  seconds_ = 0.0;
  warned_.clear();
  // Whoever has graded the checks before: what it says must not depend on that. (On a GPU all
  // checks come in their order.)
  begin_afresh();
}

void Session::begin_afresh() {
  if (device() == "cpu" && worker_->has_answered()) {
    worker_->stop();
  }
}

/// Makes a call. The time of all is limited, whatever the check would still try: who sleeps for as
/// long as each single call may take must not keep the grader for hours.
Run Session::timed(const std::function<Run()>& call) {
  if (settings_.on_call) {
    settings_.on_call();
  }
  const process::Clock::time_point begin = process::Clock::now();
  Run run = call();
  seconds_ += std::chrono::duration<double>(process::Clock::now() - begin).count();
  return run;
}

/// Calls the student's function.
Run Session::attempt(const Case& call, const Turn& turn, bool count_lines, const Case* beside) {
  if (is_out_of_time()) {
    fail(call,
         {Status::timed_out, fmt::format("The calls of this check took more than {:g} seconds "
                                         "by the clock, all together.",
                                         settings_.check_limit)});
  }
  const double limit = time_limit(turn);
  const auto ask = [&](WorkerClient& worker) {
    return beside == nullptr ? worker.run(call, turn, limit, count_lines)
                             : worker.run_both(call, *beside, turn, limit);
  };
  Run run = timed([&] { return ask(*worker_); });
  settle_refusal(ask, run);
  has_ended_ = has_ended_ || (run.outcome == wire::Outcome::ok && turn.most_blocks == 0);
  check_.output = (check_.output + run.output).substr(0, kMostOutput);
  const Finding* warning = telling_warning(run.findings);
  check_.doubt = warning != nullptr ? std::optional(*warning) : std::nullopt;
  check_.launched = settings_.device != "cpu" || !run.traffic.empty();
  check_.threads = threads_of(run);
  for (const LaunchTraffic& launch : run.traffic) {
    const bool is_sound = launch.function.size() + launch.kernel.size() < kLongestName;
    if (!launch.function.empty() && is_sound && check_.launches.size() < kMostLaunches) {
      const auto [x, y, z] = launch.block;
      check_.launches.insert(
          {launch.function, launch.kernel, std::uint64_t{x} * y * z, launch.dynamic_shared_bytes});
    }
  }
  for (const Finding& finding : run.findings) {
    const std::string where = location_of(finding).value_or("");
    // Once a line, or a kernel: the next shape shows the same at another element.
    const auto told = finding.habit == simulator::Habit::none
                          ? std::tuple(finding.kind, finding.habit, where)
                          : std::tuple(Kind(), finding.habit, finding.kernel);
    if (finding.warning && warned_.insert(told).second) {
      check_.warnings.push_back((where.empty() ? "" : where + ": ") +
                                sentence_on_warning(call, finding));
    }
  }
  return run;
}

/// A call that came to its end and left alone what is not its own; any other ends the check.
Run Session::complete(const Case& call, const Turn& turn, const GoesWell& goes_well,
                      bool count_lines) {
  Run result = attempt(call, turn, count_lines);
  look_for_wider_race(call, result);
  judge(call, result, goes_well);
  return result;
}

void Session::judge(const Case& call, const Run& run, const GoesWell& goes_well) {
  std::optional<Failure> failure = judge_ending(call, run, goes_well);
  if (!failure && !check_.launched) {
    failure = judge_launches(call, run);
  }
  if (!failure) {
    failure = judge_memory(call, run, goes_well);
  }
  if (failure) {
    if (run.outcome != Outcome::ok && !machine_is_sound()) {
      failure->status = Status::ungraded;
      failure->message =
          "The device does not work any more, even for a trusted kernel: " + failure->message;
    }
    fail(call, *failure);
  }
}

/// A call that does not fit is left out.
bool Session::can_hold(const Case& call) {
  if (fits(call)) {
    return true;
  }
  ++check_.left_out;
  check_.warnings.push_back(fmt::format(
      "Left out: this GPU's memory is too small for the {:.1f} GB of the call {}. Grade on the CPU "
      "to see it.",
      static_cast<double>(call.span_bytes()) * 1e-9, call.describe()));
  return false;
}

Answer Session::expect(const Case& call, const Outputs& outputs,
                       const std::vector<Oracle>& oracles) {
  if (!can_hold(call)) {
    return {};
  }
  if (sample_ == Sample::of_many) {
    expect_by_sample(call, outputs, oracles);
    return {};
  }
  if (side_by_side_ && in_pairs_) {
    if (last_) {
      expect_side_by_side(*std::exchange(last_, std::nullopt), call, outputs, oracles);
    } else {
      last_ = call;
    }
    return {};
  }
  Answer answer = expect_alone(call, next_turn(), outputs, oracles);
  if (side_by_side_) {
    if (last_) {
      expect_side_by_side(*last_, call, outputs, oracles);
    }
    last_ = call;
  }
  return answer;
}

Answer Session::expect_alone(const Case& call, const Turn& first, const Outputs& outputs,
                             const std::vector<Oracle>& oracles) {
  Answer answer;
  in_turn(call, first, [&](const Turn& turn) {
    give_reasons(call, outputs, oracles, [&] {
      if (sample_ != Sample::of_wide || !is_right_in_sample(call, turn, outputs)) {
        answer = complete(call, turn, goes_right(outputs)).answer;
        compare(call, answer, outputs, oracles);
      }
    });
  });
  return answer;
}

std::optional<Traffic> Session::expect_and_count(const Case& call, const Outputs& outputs,
                                                 const std::vector<Oracle>& oracles) {
  if (settings_.device != "cpu") {
    expect(call, outputs, oracles);
    return std::nullopt;
  }
  Traffic traffic;
  give_reasons(call, outputs, oracles, [&] {
    const Run result = complete(call, {next_turn().poison}, goes_right(outputs), true);
    compare(call, result.answer, outputs, oracles);
    traffic = traffic_of(result);
  });
  return traffic;
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
        drop_doubt(call, outputs[i]);
      }
      check_.causes_left = !check_.find_causes;
      const Threads threads = check_.threads;
      fail(call, wrong_numbers(wrong, causes, check_.doubt, goes_right({outputs[i]}), [&] {
             return check_.causes_left ? std::nullopt : explain_parts(wrong, outputs[i], threads);
           }));
    }
  }
}

void Session::expect_untouched(const Case& call, const std::string& sentence) {
  in_turn(call, next_turn(), [&](const Turn& turn) {
    const Answer answer = complete(call, turn, kNobodyAsked).answer;
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
  failure.call += text_of(other_device_);
  failure.output = check_.output;
  check_.failure = failure;
  throw CheckFailed(failure.message);
}

}  // namespace onepass::verdict
