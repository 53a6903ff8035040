#include "verdict/contract/call.h"

#include <algorithm>
#include <stdexcept>

namespace onepass::verdict::contract {
namespace {

/// A call in the making.
struct Plan {
  const Function& function;
  Arguments& arguments;
  const Arrangement& arrangement;
  Sizes sizes;  // all of them
};

/// All sizes, from those that are given and the extents of the tensors.
Sizes all_sizes(const Function& function, const Arguments& arguments) {
  Sizes sizes = arguments.sizes;
  for (int pass = 0; pass < 2; ++pass) {  // a product may need a size that a later tensor tells
    for (const Tensor& tensor : function.tensors) {
      const auto given = arguments.values.find(tensor.name);
      if (given != arguments.values.end()) {
        tensor.rows.tell(given->second.rows(), sizes);
        tensor.cols.tell(given->second.cols(), sizes);
      }
    }
  }
  return sizes;
}

void add_scalars(Case& call, const Plan& plan) {
  for (const Size& size : plan.function.sizes) {
    if (size.is_argument) {
      call.integer(size.name, size.name == plan.arguments.none ? 0 : plan.sizes.at(size.name));
    }
  }
}

/// An output over an input lies as that does.
const Tensor& place_of(const Tensor& tensor, const Plan& plan) {
  const bool over = plan.arrangement.over.count(tensor.name) > 0;
  return over ? *std::find_if(plan.function.tensors.begin(), plan.function.tensors.end(),
                              [&](const Tensor& other) { return other.name == tensor.may_be_over; })
              : tensor;
}

Layout layout_of(const Tensor& tensor, const Plan& plan) {
  const auto found = plan.arrangement.places.find(place_of(tensor, plan).name);
  if (found == plan.arrangement.places.end()) {
    return {};
  }
  return {tensor.cols.in(plan.sizes) + found->second.gap, found->second.offset};
}

void add_strides(Case& call, const Plan& plan) {
  for (const Tensor& tensor : plan.function.tensors) {
    if (tensor.is_strided) {
      call.integer(tensor.name + "_stride",
                   layout_of(tensor, plan).stride_for(tensor.cols.in(plan.sizes)));
    }
  }
}

void add_others(Case& call, const Plan& plan) {
  for (const Scalar& scalar : plan.function.scalars) {
    const auto given = plan.arguments.scalars.find(scalar.name);
    const auto add = [&](auto usual) {
      const double value =
          given == plan.arguments.scalars.end() ? static_cast<double>(usual) : given->second;
      std::is_integral_v<decltype(usual)>
          ? call.integer(scalar.name, static_cast<std::int64_t>(value))
          : call.real(scalar.name, value);
    };
    std::visit(add, scalar.usual);
  }
}

/// Is some output written over this input?
bool is_written_over(const Tensor& tensor, const Plan& plan) {
  return std::any_of(
      plan.function.tensors.begin(), plan.function.tensors.end(), [&](const Tensor& output) {
        return output.may_be_over == tensor.name && plan.arrangement.over.count(output.name) > 0;
      });
}

Matrix checked(Matrix values, const Tensor& tensor, const Plan& plan) {
  if (values.rows() < tensor.rows.in(plan.sizes) || values.cols() != tensor.cols.in(plan.sizes)) {
    throw std::logic_error(tensor.name + " has another shape than its function says");
  }
  return values;
}

void add_contents(Case& call, const Tensor& tensor, const Plan& plan) {
  const bool changed = tensor.role == Role::in_place || is_written_over(tensor, plan);
  const bool in_place = changed && plan.arguments.none.empty();
  const Layout layout = layout_of(tensor, plan);
  const auto given = plan.arguments.values.find(tensor.name);
  const Dtype dtype = tensor.dtype_in(call.dtype());
  const std::int64_t rows = tensor.rows.in(plan.sizes);
  const std::int64_t cols = tensor.cols.in(plan.sizes);
  if (given != plan.arguments.values.end() || dtype == Dtype::int32 || dtype == Dtype::int64) {
    Matrix values = given != plan.arguments.values.end()
                        ? checked(std::move(given->second), tensor, plan)
                        : Matrix(dtype, rows, cols);
    in_place ? call.in_place(tensor.name, std::move(values), layout)
             : call.input(tensor.name, std::move(values), layout);
  } else {
    HashFill fill = tensor.fill;
    fill.seed = plan.arguments.seed.value() + call.buffers().size();
    in_place ? call.in_place(tensor.name, dtype, rows, cols, fill, layout)
             : call.input(tensor.name, dtype, rows, cols, fill, layout);
  }
}

void add_output(Case& call, const Tensor& tensor, const Plan& plan) {
  if (tensor.scratch != nullptr) {
    Sizes told = plan.sizes;
    if (!plan.arguments.none.empty()) {
      told[plan.arguments.none] = 0;
    }
    const std::int64_t size = std::max<std::int64_t>(1, tensor.scratch(told));
    call.output(tensor.name, tensor.dtype_in(call.dtype()), 1, size);
  } else {
    call.output(tensor.name, tensor.dtype_in(call.dtype()), tensor.rows.in(plan.sizes),
                tensor.cols.in(plan.sizes), layout_of(tensor, plan));
  }
}

void add_tensor(Case& call, const Tensor& tensor, const Plan& plan) {
  const bool given = plan.arguments.values.count(tensor.name) > 0 || plan.arguments.seed;
  const bool over = plan.arrangement.over.count(tensor.name) > 0;
  const bool left_out =
      tensor.is_optional && (!given || plan.arrangement.left_out.count(tensor.name) > 0);
  if (over || left_out) {
    call.null(tensor.name, tensor.role, tensor.dtype_in(call.dtype()),
              over ? tensor.may_be_over : "");
  } else if (tensor.role == Role::output) {
    add_output(call, tensor, plan);
  } else if (given) {
    add_contents(call, tensor, plan);
  } else {
    throw std::logic_error("a call of " + plan.function.name + " needs values for " + tensor.name);
  }
}

}  // namespace

Case call(const Function& function, Dtype dtype, Arguments arguments,
          const Arrangement& arrangement) {
  const Plan plan = {function, arguments, arrangement, all_sizes(function, arguments)};
  Case result(function.name, dtype);
  add_scalars(result, plan);
  add_strides(result, plan);
  add_others(result, plan);
  for (const Tensor& tensor : function.tensors) {
    add_tensor(result, tensor, plan);
  }
  return result;
}

std::int64_t least_bytes(const Function& function, Dtype dtype, const Sizes& sizes) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : function.tensors) {
    if (tensor.scratch == nullptr) {
      const auto size = static_cast<std::int64_t>(size_of(tensor.dtype_in(dtype)));
      const int times = tensor.role == Role::in_place ? 2 : 1;
      bytes += times * tensor.rows.in(sizes)*tensor.cols.in(sizes)*size;
    }
  }
  return bytes;
}

}  // namespace onepass::verdict::contract
