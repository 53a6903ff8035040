#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS  // a crash of the grader is to look like one
#include "verdict/session/run_checks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "verdict/session/check.h"

namespace onepass::verdict {
namespace {

/// What the decorators say, by the file and line of the test case. doctest has no place for it.
struct Worth {
  int points = 0;
  int todo = 0;
};
using Place = std::pair<std::string, unsigned>;

std::map<Place, Worth>& worths() {
  static std::map<Place, Worth> map;
  return map;
}

Place place_of(const doctest::TestCaseData& check) {
  return {doctest::String(check.m_file).c_str(), check.m_line};
}

CheckInfo info_of(const doctest::TestCaseData& check) {
  const Worth worth = worths()[place_of(check)];
  return {check.m_name, worth.points, worth.todo};
}

Failure grader_fault(const std::string& message) {
  Failure failure;
  failure.status = Status::ungraded;
  failure.message = "The grader is at fault, not your code: " + message;
  return failure;
}

/// What the reporter below, which doctest makes, tells to the functions that run doctest.
struct Listener {
  std::vector<CheckInfo> listed;
  std::function<void(const CheckResult&)> done;
};
Listener* listener = nullptr;

/// doctest reports each test case to this instead of to the terminal.
struct CheckReporter : doctest::IReporter {
  explicit CheckReporter(const doctest::ContextOptions&) {}

  void report_query(const doctest::QueryData& query) override {
    for (unsigned i = 0; i < query.num_data; ++i) {
      listener->listed.push_back(info_of(*query.data[i]));
    }
  }

  void test_case_start(const doctest::TestCaseData& check) override {
    info_ = info_of(check);
    fault_.reset();
    session().begin_check(info_.name, info_.todo);
  }

  void test_case_exception(const doctest::TestCaseException& exception) override {
    if (!session().check().failure) {
      fault_ = exception.error_string.c_str();
    }
  }

  void log_assert(const doctest::AssertData& assertion) override {
    if (assertion.m_failed) {
      fault_ = std::string("it expected ") + assertion.m_expr;
    }
  }

  void test_case_end(const doctest::CurrentTestCaseStats&) override {
    const Session::Check& check = session().check();
    CheckResult result{info_, check.failure, check.warnings, check.output, check.error_over_bound};
    if (fault_) {
      result.failure = grader_fault(*fault_);
    } else if (!result.failure && check.compared == 0 && check.left_out == 0) {
      result.failure = grader_fault("this check compares nothing.");
    }
    listener->done(result);
  }

  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  CheckInfo info_;
  std::optional<std::string> fault_;
};

REGISTER_REPORTER("onepass", 1, CheckReporter);

/// doctest's filters separate by commas and match wildcards: let each special letter match
/// anything.
std::string as_filter(std::string text) {
  for (char& letter : text) {
    if (letter == ',' || letter == '\\' || letter == '*') {
      letter = '?';
    }
  }
  return text;
}

void run_doctest(Listener& to, const std::string& exercise, const std::optional<std::string>& only,
                 bool list) {
  listener = &to;
  doctest::Context context;
  context.setOption("reporters", "onepass");
  context.setOption("test-suite", as_filter(exercise).c_str());
  context.setOption("case-sensitive", true);
  context.setOption("order-by", "file");
  if (list) {
    const char* arguments[] = {"", "--list-test-cases"};  // a flag: setOption() sets values only
    context.applyCommandLine(2, arguments);
  }
  if (only) {
    context.setOption("test-case", as_filter(*only).c_str());
  }
  context.run();
  listener = nullptr;
}

}  // namespace

void points::fill(doctest::detail::TestCase& check) const {
  worths()[place_of(check)].points = value;
}

void todo::fill(doctest::detail::TestCase& check) const {
  worths()[place_of(check)].todo = value;
}

std::vector<CheckInfo> list_checks(const std::string& exercise) {
  Listener to;
  run_doctest(to, exercise, std::nullopt, true);
  return to.listed;
}

void run_checks(const std::string& exercise, const std::vector<CheckInfo>& wanted,
                const std::function<bool(const CheckResult&)>& done) {
  bool go_on = true;
  Listener to;
  to.done = [&](const CheckResult& result) { go_on = done(result); };
  for (std::size_t i = 0; i < wanted.size() && go_on; ++i) {
    run_doctest(to, exercise, wanted[i].name, false);
  }
}

Status exercise_status(const std::vector<CheckInfo>& wanted,
                       const std::vector<CheckResult>& results) {
  const auto count = [&](Status status) {
    return static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(),
                      [&](const CheckResult& result) { return result.status() == status; }));
  };
  if (wanted.empty() || results.size() != wanted.size() || count(Status::ungraded) > 0) {
    return Status::ungraded;
  }
  if (count(Status::passed) == results.size()) {
    return Status::passed;
  }
  if (count(Status::not_started) == results.size()) {
    return Status::not_started;
  }
  for (const CheckResult& result : results) {
    if (result.failure && result.status() != Status::not_started) {
      return result.status();
    }
  }
  return Status::failed;
}

}  // namespace onepass::verdict
