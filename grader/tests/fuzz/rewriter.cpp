// The text of a .cu file, before the simulator's compiler gets it.
#include "simulator/rewriter/rewrite.h"

#include <algorithm>

#include "tests/fuzz/target.h"

namespace onepass::fuzz {
namespace {

auto lines_in(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

void try_input(std::string_view input) {
  try {
    const std::string text = rewriter::rewrite(input, "exercises/01_rmsnorm/forward.cu");
    require(lines_in(text) == lines_in(input) + 2);  // no line has moved
  } catch (const rewriter::RewriteError& error) {
    require(error.line() >= 1 && error.line() <= lines_in(input) + 1);
  }
}

}  // namespace onepass::fuzz
