// `onepass library` where it cannot be had. What it makes is looked at by tests/library_test.py.
#include <doctest/doctest.h>

#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;

TEST_CASE("without nvcc there is no library, and that is said before anything is graded") {
  const Workbook workbook;
  const auto outcome = workbook.onepass("library");
  CHECK(outcome.code == 2);
  CHECK(has(outcome.output,
            "A library is for a GPU, and nvcc makes it: there is no CUDA toolkit (nvcc)."));
}
