#include "chapters/common/backward.h"

namespace onepass::common {
namespace {

void spoil(const BackwardHooks::Spoil& hook, Backward& pass) {
  if (hook) {
    hook(pass);
  }
}

}  // namespace

Backward backward_of(const verdict::Case& call) {
  Backward pass;
  pass.dtype = call.dtype();
  pass.centred = call.find("mean") != nullptr;
  pass.dy = call.values("dy").field();
  pass.x = call.values("x").field();
  pass.weight = call.find("weight") ? call.values("weight").field() : Field(1, pass.x.cols, 1.0);
  pass.mean = pass.centred ? call.values("mean").field() : Field(pass.x.rows, 1);
  pass.rstd = call.values("rstd").field();
  pass.stride = call.buffer("x").stride();
  if (call.integer("rows") == 0) {
    pass.dy = Field(0, pass.x.cols);
  }
  return pass;
}

std::optional<Field> backward_dx(Backward& pass, const BackwardHooks& hooks) {
  bool applies = true;
  const auto means = [&](const Field& terms) {
    const RowSum sum = hooks.row_sum ? hooks.row_sum : right_sum;
    const std::optional<Field> sums = sum(pass.dtype, terms);
    applies = applies && sums.has_value();
    const auto cols = static_cast<double>(terms.cols);
    return map(sums.value_or(Field(terms.rows, 1)), [cols](double total) { return total / cols; });
  };
  const auto of = [](const Field& mean, std::int64_t row, std::int64_t col) {
    return mean(row, mean.cols == 1 ? 0 : col);
  };
  pass.x_hat = normalized(pass.x, pass.mean, pass.rstd);
  spoil(hooks.x_hat, pass);
  pass.wdy = product(pass.dy, pass.weight);
  spoil(hooks.wdy, pass);
  pass.mean_wdy = pass.centred ? means(pass.wdy) : Field(pass.wdy.rows, 1);
  pass.mean_wdy_hat = means(product(pass.wdy, pass.x_hat));
  if (!applies) {
    return std::nullopt;
  }
  spoil(hooks.means, pass);
  return verdict::field_of(pass.wdy.rows, pass.wdy.cols, [&](std::int64_t row, std::int64_t col) {
    return pass.rstd(row, 0) * (pass.wdy(row, col) - of(pass.mean_wdy, row, col) -
                                pass.x_hat(row, col) * of(pass.mean_wdy_hat, row, col));
  });
}

Field backward_terms(Backward& pass, const std::string& output, const BackwardHooks& hooks) {
  if (output == "dbias" && !hooks.terms) {
    return pass.dy;
  }
  pass.x_hat = normalized(pass.x, pass.mean, pass.rstd);
  spoil(hooks.x_hat, pass);
  if (pass.rounded_x_hat) {
    // The kernel's is a product in fp32.
    pass.x_hat = rounded(pass.dtype, rounded(verdict::Dtype::fp32, pass.x_hat));
  }
  return hooks.terms ? hooks.terms(pass, output) : product(pass.dy, pass.x_hat);
}

}  // namespace onepass::common
