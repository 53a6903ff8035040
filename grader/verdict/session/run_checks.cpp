#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS  // a crash of the grader is to look like one
#include "verdict/session/run_checks.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "verdict/session/check.h"

namespace onepass::verdict {
namespace {

Failure grader_fault(const std::string& message) {
  return {Status::ungraded, "The grader is at fault, not your code: " + message};
}

/// doctest reports to this instead of to the terminal: what it lists goes to the stream of its
/// context, two lines for each test case, and what went wrong in one to the session.
class CheckReporter : public doctest::IReporter {
 public:
  explicit CheckReporter(const doctest::ContextOptions& options) : list_(*options.cout) {}

  void report_query(const doctest::QueryData& query) override {
    for (unsigned i = 0; i < query.num_data; ++i) {
      const char* worth = query.data[i]->m_description;
      list_ << query.data[i]->m_name << "\n" << (worth == nullptr ? "" : worth) << "\n";
    }
  }
  void test_case_exception(const doctest::TestCaseException& exception) override {
    if (!session().check().failure) {
      session().note_fault(exception.error_string.c_str());
    }
  }
  void log_assert(const doctest::AssertData& assertion) override {
    if (assertion.m_failed) {
      session().note_fault(std::string("it expected ") + assertion.m_expr);
    }
  }

  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  std::ostream& list_;
};

REGISTER_REPORTER("onepass", 1, CheckReporter);

/// doctest's filters separate by commas and match wildcards: let each special letter match
/// anything.
std::string as_filter(std::string text) {
  const auto is_special = [](char letter) {
    return letter == ',' || letter == '\\' || letter == '*';
  };
  std::replace_if(text.begin(), text.end(), is_special, '?');
  return text;
}

/// Has doctest list the exercise's checks, or run the one of that name. Returns what was listed.
std::string run_doctest(const std::string& exercise, const std::optional<std::string>& check) {
  std::ostringstream listed;
  doctest::Context context;
  context.setCout(&listed);
  context.setOption("reporters", "onepass");
  context.setOption("test-suite", as_filter(exercise).c_str());
  context.setOption("case-sensitive", true);
  context.setOption("order-by", "file");
  if (check) {
    context.setOption("test-case", as_filter(*check).c_str());
  } else {
    const char* arguments[] = {"", "--list-test-cases"};  // a flag: setOption() sets values only
    context.applyCommandLine(2, arguments);
  }
  context.run();
  return listed.str();
}

}  // namespace

std::vector<wire::CheckInfo> list_checks(const std::string& exercise) {
  std::istringstream listed(run_doctest(exercise, std::nullopt));
  std::vector<wire::CheckInfo> checks;
  std::string worth;
  for (wire::CheckInfo check; std::getline(listed, check.name) && std::getline(listed, worth);) {
    if (std::sscanf(worth.c_str(), "points(%d) todo(%d)", &check.points, &check.todo) != 2) {
      throw std::logic_error("a check without points or TODO: " + check.name);
    }
    checks.push_back(check);
  }
  return checks;
}

Session::Check run_check(Session& session, const std::string& exercise,
                         const wire::CheckInfo& info) {
  const Session::Running running(session);
  session.begin_check(info.name);
  run_doctest(exercise, info.name);
  Session::Check check = session.check();
  if (check.fault) {
    check.failure = grader_fault(*check.fault);
  } else if (!check.failure && check.compared == 0 && check.left_out == 0) {
    check.failure = grader_fault("this check compares nothing.");
  }
  return check;
}

}  // namespace onepass::verdict
