#include "chapters/common/forward.h"

namespace onepass::common {

using verdict::field_of;

std::optional<Statistics> statistics(const Forward& pass, const ForwardHooks& hooks) {
  const Field& x = pass.x;
  Row row{.dtype = pass.dtype,
          .cols = static_cast<double>(x.cols),
          .eps = pass.eps,
          .stride = static_cast<double>(pass.stride > 0 ? pass.stride : x.cols)};
  Statistics all{Field(x.rows, 1), {}, {}};
  if (pass.centred) {
    const std::optional<Field> sums = hooks.sum(pass.dtype, x);
    if (!sums) {
      return std::nullopt;
    }
    all.mean = map(*sums, [&](double sum) {
      row.sum = sum;
      return hooks.mean(row);
    });
  }
  const std::optional<Field> squares =
      hooks.sum_of_squares(pass.dtype, field_of(x.rows, x.cols, [&](auto r, auto c) {
                             return hooks.square({pass.dtype, x(r, c), at(all.mean, r, c)});
                           }));
  if (!squares) {
    return std::nullopt;
  }
  all.variance = all.rstd = *squares;
  for (std::int64_t r = 0; r < squares->rows; ++r) {
    for (std::int64_t c = 0; c < squares->cols; ++c) {
      row.mean = at(all.mean, r, c);
      row.squares = (*squares)(r, c);
      row.variance = all.variance(r, c) = hooks.variance(row);
      all.rstd(r, c) = hooks.rstd(row);
    }
  }
  if (hooks.rstd_total) {
    all.rstd = hooks.rstd_total(all.rstd);
  }
  return all;
}

Field scaled_and_shifted(const Forward& pass, const Statistics& rows, const ForwardHooks& hooks) {
  return field_of(pass.x.rows, pass.x.cols, [&](auto r, auto c) {
    return hooks.y({pass.dtype, pass.x(r, c), at(rows.mean, r, c), at(rows.rstd, r, c),
                    at(pass.weight, r, c), at(pass.bias, r, c)});
  });
}

std::optional<Field> forward(const Forward& pass, const std::string& output,
                             const ForwardHooks& hooks) {
  const std::optional<Statistics> rows = statistics(pass, hooks);
  if (!rows) {
    return std::nullopt;
  }
  return output == "y"      ? scaled_and_shifted(pass, *rows, hooks)
         : output == "mean" ? saved(rows->mean)
                            : saved(rows->rstd);
}

Field saved(const Field& statistic) {
  return field_of(statistic.rows, 1, [&](auto r, auto) { return statistic(r, 0); });
}

}  // namespace onepass::common
