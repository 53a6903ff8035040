#include "chapters/common/asked.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kVector = 8;        // fills vectors of every type
constexpr std::int64_t kTwoOthers = 4096;  // to which there are two of all other sizes

}  // namespace

std::int64_t others_at_end(std::int64_t number) {
  return number > kTwoOthers ? 1 : 2;
}

contract::Sizes sizes_at_end(const Function& function, const std::string& size,
                             std::int64_t number) {
  return with_large(function, size, number, others_at_end(number), kOtherWidth);
}

std::vector<std::int64_t> Asked::doublings(std::int64_t most) const {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = first(); number(step) <= most; step = 2 * step + 1) {
    steps.push_back(step);
  }
  ask({steps.begin(), steps.end()});
  return steps;
}

const Launches& Asked::launches(std::int64_t number) const {
  return session().launches_of(call(number));
}

void Asked::ask(const std::set<std::int64_t>& steps) const {
  std::vector<Case> calls;
  for (const std::int64_t step : steps) {
    calls.push_back(call(number(step)));
  }
  session().ask(calls);
}

Case Asked::call(std::int64_t number) const {
  return contract::hollow(function_, dtype_, sizes_at_end(function_, size_, number),
                          session().random().bits(9));
}

std::int64_t Asked::whole() const {
  return kVector * function_.size(size_).multiple;  // each half of what is in pairs
}

std::set<std::string> kernels_of(const Launches& launches) {
  std::set<std::string> kernels;
  for (const wire::Launch& launch : launches) {
    kernels.insert(launch.kernel);
  }
  return kernels;
}

}  // namespace onepass::common
