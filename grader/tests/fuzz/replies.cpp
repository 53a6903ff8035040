// The deciding side: what a hostile worker answers to "run", and all that is said of it. A reply
// may be refused; one that was accepted has to be judged without a fault of ours.
#include <cmath>

#include "tests/fuzz/message.h"
#include "tests/fuzz/target.h"
#include "verdict/compare.h"
#include "verdict/contract/call.h"
#include "verdict/measure/explain_line.h"
#include "verdict/pattern.h"
#include "verdict/session/judge.h"
#include "verdict/traffic.h"
#include "verdict/worker/messages.h"
#include "wire/json.h"

namespace onepass::fuzz {
namespace {

using namespace verdict;
using nlohmann::json;

const contract::Function kForward = {
    "forward",
    {{"rows", 0}, {"cols", 1, 65'536}},
    {{"x", contract::input, "rows", "cols", {.strided = true}},
     {"weight", contract::input, 1, "cols", {.optional = true}},
     {"z", contract::in_place, "rows", "cols"},
     {"y", contract::output, "rows", "cols", {.strided = true}},
     {"rstd", contract::output, "rows", 1, {.dtype = Dtype::fp32}}},
    {{"eps", 1e-6}}};

Case make_call() {
  return contract::call(kForward, Dtype::fp16, {.sizes = {{"rows", 3}, {"cols", 5}}, .seed = 1},
                        {{"x", {.gap = 3}}, {"y", {.gap = 3, .offset = 1}}});
}

void say(const std::string& text) {
  json(text).dump();  // throws if it is no UTF-8
}

void say(const std::optional<Failure>& failure) {
  if (failure) {
    say(failure->message + failure->location.value_or("") + failure->where + failure->got);
  }
}

void judge_numbers(const Case& call, const Run& run) {
  for (const char* name : {"y", "rstd", "z"}) {
    const Matrix& got = run.answer[name];
    const Field expected(got.rows(), got.cols(), 0.5);
    const Comparison comparison =
        compare(got, expected, Field(got.rows(), got.cols(), 0.01), run.answer.poison);
    const WrongOutput wrong{call, run.answer, {name, expected, expected}, comparison};
    if (!comparison.right()) {
      const Finding* warning = telling_warning(run.findings);
      say(wrong_numbers(wrong, {}, warning ? std::optional(*warning) : std::nullopt, kNobodyAsked,
                        [] { return std::nullopt; }));
    }
  }
}

void judge(const Case& call, const Run& run) {
  say(run.error);
  for (const auto& asked : {kNobodyAsked, GoesWell([](const Case&) { return true; })}) {
    say(judge_ending(call, run, asked));
    for (const Finding& finding : run.findings) {
      say(explain_finding(call, run, finding, asked).sentence);
      say(sentence_of(finding));
    }
    if (run.outcome == Outcome::ok) {
      say(judge_launches(call, run));
      say(judge_memory(call, run, asked));
      judge_numbers(call, run);
    }
  }
  const Traffic traffic = traffic_of(run);
  std::int64_t sectors = 0;
  for (const LineTraffic& line : traffic.lines) {
    sectors += static_cast<std::int64_t>(line.units);
  }
  for (const LineTraffic& line : traffic.lines) {
    say(action(line) + advice(line, sectors, sectors).value_or(""));
  }
}

}  // namespace

void try_input(std::string_view input) {
  static const Case call = make_call();
  worker::Message reply;
  if (receive(input, reply, reply_limits(call)) != worker::Transfer::done) {
    return;
  }
  Run run;
  try {
    run = read_run(call, Poison::nan, reply);
  } catch (const std::exception&) {
    return;
  }
  judge(call, run);
}

}  // namespace onepass::fuzz
