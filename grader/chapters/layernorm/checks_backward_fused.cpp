// The checks of exercise 2.4. Those of TODO 1 look at dx only, those of TODO 2 at dweight and
// dbias. What they do is in checks_of_backward.h.
#include "chapters/layernorm/checks_of_backward.h"

namespace onepass::layernorm::backward_fused_checks {
namespace {

const BackwardChecks checks(kBackward);

TEST_SUITE("layernorm/backward_fused") {
  CHECK_CASE("dx of every row, in every width", points(2), todo(1)) {
    sweep_column_sums(checks.rows_of(kOfDx));
  }

  CHECK_CASE("dx of more rows than there are blocks", points(1), todo(1)) {
    checks.dx_of_many_rows();
  }

  CHECK_CASE("dx of wide rows, to 65,536 columns", points(1), todo(1)) {
    checks.dx_of_wide_rows();
  }

  CHECK_CASE("dx: strides of their own, at any address", points(1), todo(1)) {
    sweep_arrangements(kBackward, checks.rows_of(kOfDx),
                       {"dy", "x", "mean", "rstd", "weight", "dx"});
  }

  CHECK_CASE("dweight and dbias of every column, over all rows", points(2), todo(2)) {
    checks.sums_of_every_column();
  }

  CHECK_CASE("dweight and dbias over more rows than there are blocks", points(2), todo(2)) {
    checks.sums_of_many_rows();
  }

  CHECK_CASE("dweight and dbias of wide rows, to 65,536 columns", points(1), todo(2)) {
    checks.sums_of_wide_rows();
  }

  CHECK_CASE("dweight and dbias: partial sums stay in fp32 until the very end", points(1),
             todo(2)) {
    checks.sums_stay_in_fp32();
  }

  CHECK_CASE("dweight and dbias of strided rows at any address; mean 1000", points(1), todo(2)) {
    sweep_arrangements(kBackward, checks.rows_of(kOfSums),
                       {"dy", "x", "mean", "rstd", "dweight", "dbias"});
    checks.check(kOfSums, random_gradients(Dtype::fp32, 33, 70, 1000.0));
  }

  CHECK_CASE("no rows: dweight and dbias are 0", points(1), todo(2)) {
    checks.no_rows();
  }

  CHECK_CASE("20 calls give the same bits, if a fixed order was promised", points(2), todo(2)) {
    checks.same_bits_again();
  }

  CHECK_CASE("all three results at once: shapes drawn at random, extreme numbers, NaN", points(1),
             todo(2)) {
    checks.random_shapes_and_values();
    checks.calls_of_every_size();
  }
}

}  // namespace
}  // namespace onepass::layernorm::backward_fused_checks
