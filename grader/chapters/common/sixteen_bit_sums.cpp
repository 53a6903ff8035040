// Sums in 16-bit types.
#include "chapters/common/sixteen_bit_sums.h"

#include <vector>

namespace onepass::common {

using verdict::Dtype;
using verdict::Field;

namespace {

/// Adds shares in the order of a butterfly or tree: pairs at distance n / 2, n / 4, ... 1, first
/// within each warp, then across the warps.
double tree_sum(std::vector<double> shares, Dtype dtype) {
  while (shares.size() > 1) {
    const std::size_t group = shares.size() < 32 ? shares.size() : 32;
    std::vector<double> sums;
    for (std::size_t first = 0; first < shares.size(); first += group) {
      for (std::size_t half = group / 2; half > 0; half /= 2) {
        for (std::size_t i = first; i < first + half; ++i) {
          shares[i] = verdict::round_to(dtype, shares[i] + shares[i + half]);
        }
      }
      sums.push_back(shares[first]);
    }
    shares = sums;
  }
  return shares[0];
}

}  // namespace

Field sum_in(Dtype dtype, const Field& terms, SixteenBitSum how) {
  Field sums(terms.rows, 1);
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    std::vector<double> shares(static_cast<std::size_t>(how.threads), 0.0);
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      double& share = shares[static_cast<std::size_t>(col / how.pack % how.threads)];
      share = verdict::round_to(dtype, share + terms(row, col));
    }
    sums(row, 0) = tree_sum(shares, how.tree ? dtype : Dtype::fp32);
  }
  return sums;
}

}  // namespace onepass::common
