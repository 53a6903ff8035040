// What a chapter's checks_*.cpp needs: TEST_SUITE, TEST_CASE, points(), todo() and session().
//
//     TEST_SUITE("rmsnorm/forward") {
//       TEST_CASE("1000 columns: the last 232 of each row count too" * points(2) * todo(1)) {
//         for (Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
//           check_forward(dtype, 3, 1000);   // makes a case, calls session().expect(...)
//         }
//       }
//     }
//
// The suite is the exercise's id. Names are sentences that a student can act on. Checks run in the
// order in which they stand in the file; keep those of one exercise in one file.
// Do not use CHECK or REQUIRE on what the student's code gives: only session() makes failures that
// are told well. A CHECK that fails, or any other exception, counts as a fault of the grader, and
// so does a check that compares no element at all (so put "zero rows" beside another case).
#pragma once

#include <doctest/doctest.h>

#include "verdict/session/session.h"

namespace onepass::verdict {

/// Decorators of a TEST_CASE: what the check is worth, and the TODO that makes it pass (the last
/// one that it needs).
struct points {
  explicit points(int value_) : value(value_) {}
  void fill(doctest::detail::TestCase& check) const;
  int value;
};
struct todo {
  explicit todo(int value_) : value(value_) {}
  void fill(doctest::detail::TestCase& check) const;
  int value;
};

}  // namespace onepass::verdict
