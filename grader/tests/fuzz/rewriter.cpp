// The text of a .cu file, before the simulator's compiler gets it.
#include "simulator/rewriter/rewrite.h"

#include <algorithm>

#include "tests/fuzz/target.h"

namespace onepass::fuzz {
namespace {

auto lines_in(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

// The rewriter puts three lines before each macro of launch bounds, and a #line takes them back.
int macros_of_bounds(std::string_view text) {
  constexpr std::string_view kFirst = "#undef ONEPASS_LAUNCH_BOUNDS_OF_";
  int count = 0;
  for (std::size_t at = 0; (at = text.find(kFirst, at)) != text.npos; at += kFirst.size()) {
    ++count;
  }
  return count;
}

}  // namespace

void try_input(std::string_view input) {
  try {
    const std::string text = rewriter::rewrite(input, "exercises/01_rmsnorm/forward.cu");
    if (macros_of_bounds(input) == 0) {  // no line has moved
      require(lines_in(text) - 3 * macros_of_bounds(text) == lines_in(input) + 2);
    }
  } catch (const rewriter::RewriteError& error) {
    const bool counts_anew = input.find("line") != input.npos;  // a #line
    require(counts_anew || (error.line() >= 1 && error.line() <= lines_in(input) + 1));
  }
}

}  // namespace onepass::fuzz
