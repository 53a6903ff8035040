// What a chapter's checks_*.cpp needs: TEST_SUITE, CHECK_CASE and session().
//
//     TEST_SUITE("rmsnorm/forward") {
//       CHECK_CASE("1000 columns: the last 232 of each row count too", points(2), todo(1)) {
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

/// A test case that is a check: points(what it is worth), todo(the TODO that makes it pass, the
/// last one that it needs). doctest carries both as the test case's description.
#define CHECK_CASE(name, points, todo) TEST_CASE((name)*doctest::description(#points " " #todo))
