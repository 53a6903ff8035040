#include "verdict/contract/call.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace onepass::verdict::contract {
namespace {

constexpr std::int64_t kMostAligned = 64;  // elements, to which a row may be aligned
constexpr std::int64_t kMoreRows = 8;      // times as many as there are

using Extents = std::pair<std::int64_t, std::int64_t>;  // rows and columns

/// All sizes, from those that are given and the extents of the tensors, where known.
Sizes all_sizes(const Function& function, Sizes sizes,
                const std::function<std::optional<Extents>(const Tensor&)>& extents) {
  for (int pass = 0; pass < 2; ++pass) {  // a product may need a size that a later tensor tells
    for (const Tensor& tensor : function.tensors) {
      if (const std::optional<Extents> extent = extents(tensor)) {
        tensor.rows.tell(extent->first, sizes);
        tensor.cols.tell(extent->second, sizes);
      }
    }
  }
  return sizes;
}

/// Of the values that are given for that tensor.
std::optional<Extents> extents_of(const Arguments& arguments, const Tensor& tensor) {
  const auto given = arguments.values.find(tensor.name);
  return given == arguments.values.end()
             ? std::nullopt
             : std::optional<Extents>({given->second->rows(), given->second->cols()});
}

/// A call in the making.
class Maker {
 public:
  Maker(const Function& function, Dtype dtype, Arguments arguments, const Arrangement& arrangement)
      : function_(function),
        arguments_(std::move(arguments)),
        arrangement_(arrangement),
        sizes_(all_sizes(function, arguments_.sizes,
                         [&](const Tensor& tensor) { return extents_of(arguments_, tensor); })),
        told_(sizes_),
        call_(function.name, dtype, &function) {
    if (!arguments_.none.empty()) {
      told_[arguments_.none] = 0;
    }
  }

  Case make() {
    for (const Size& size : function_.sizes) {
      if (size.is_argument) {
        call_.integer(size.name, told_.at(size.name));
      }
    }
    for (const Tensor& tensor : function_.tensors) {
      if (tensor.traits.strided) {
        call_.integer(tensor.name + "_stride",
                      layout_of(tensor).stride_for(tensor.cols.in(sizes_)));
      }
    }
    for (const Scalar& scalar : function_.scalars) {
      add_scalar(scalar);
    }
    for (const Tensor& tensor : function_.tensors) {
      add_tensor(tensor);
    }
    return std::move(call_);
  }

 private:
  bool is_over(const Tensor& tensor) const { return arrangement_.over.count(tensor.name) > 0; }

  /// An output over an input lies as that does.
  Layout layout_of(const Tensor& tensor) const {
    const auto found = arrangement_.places.find(is_over(tensor) ? tensor.traits.over : tensor.name);
    if (found == arrangement_.places.end()) {
      return {};
    }
    const auto& [gap, offset, padded] = found->second;
    const auto vector = 16 / static_cast<std::int64_t>(size_of(tensor.dtype_in(call_.dtype())));
    const std::int64_t stride = tensor.cols.in(sizes_) + gap;
    return {padded ? (stride + vector - 1) / vector * vector : stride, offset};
  }

  void add_scalar(const Scalar& scalar) {
    const auto given = arguments_.scalars.find(scalar.name);
    const bool usual = given == arguments_.scalars.end();
    if (const auto* integer = std::get_if<std::int64_t>(&scalar.usual)) {
      call_.integer(scalar.name, usual ? *integer : static_cast<std::int64_t>(given->second));
    } else {
      call_.real(scalar.name, usual ? std::get<double>(scalar.usual) : given->second);
    }
  }

  void add_tensor(const Tensor& tensor) {
    Buffer buffer = {
        .name = tensor.name, .role = tensor.role, .dtype = tensor.dtype_in(call_.dtype())};
    const bool given = arguments_.values.count(tensor.name) > 0 || arguments_.seed;
    if (is_over(tensor)) {
      buffer.null = true;
      buffer.over = tensor.traits.over;
    } else if (tensor.traits.optional && (!given || arrangement_.left_out.count(tensor.name) > 0)) {
      buffer.null = true;
    } else if (tensor.is_scratch()) {
      buffer.rows = 1;
      buffer.cols = std::max<std::int64_t>(1, tensor.traits.scratch(told_));
      buffer.layout.offset = layout_of(tensor).offset;
    } else if (tensor.role == output || given) {
      buffer.rows = tensor.rows.in(sizes_);
      buffer.cols = tensor.cols.in(sizes_);
      buffer.layout = layout_of(tensor);
      if (tensor.role != output) {
        buffer.role = is_changed(tensor) ? in_place : input;
        fill(buffer, tensor);
      }
    } else {
      throw std::logic_error("a call of " + function_.name + " needs values for " + tensor.name);
    }
    call_.add(std::move(buffer));
  }

  /// Does the function write to it, and may it?
  bool is_changed(const Tensor& tensor) const {
    return arguments_.none.empty() &&
           (tensor.role == in_place ||
            std::any_of(function_.tensors.begin(), function_.tensors.end(),
                        [&](const Tensor& other) {
                          return is_over(other) && other.traits.over == tensor.name;
                        }));
  }

  void fill(Buffer& buffer, const Tensor& tensor) {
    const auto given = arguments_.values.find(tensor.name);
    if (given != arguments_.values.end()) {
      buffer.values = std::move(*given->second);
      if (buffer.values.rows() < buffer.rows || buffer.values.cols() != buffer.cols) {
        throw std::logic_error(tensor.name + " has another shape than its function says");
      }
      buffer.dtype = buffer.values.dtype();
      buffer.rows = buffer.values.rows();
    } else if (is_integer(buffer.dtype)) {
      buffer.values = Matrix(buffer.dtype, buffer.rows, buffer.cols);
    } else {
      buffer.hash = {*arguments_.seed + call_.buffers().size(), tensor.traits.mean,
                     tensor.traits.scale};
    }
  }

  const Function& function_;
  Arguments arguments_;
  const Arrangement& arrangement_;
  Sizes sizes_;  // of the tensors
  Sizes told_;   // to the function
  Case call_;
};

/// Of the copies that a single row or column is repeated in each has numbers of its own: what is
/// the same everywhere hides what is wrong.
double unlike(std::int64_t index, std::int64_t extent) {
  return extent == 1 ? 1.0 + 0.125 * static_cast<double>(index % 5) : 1.0;
}

/// What a call was made from.
struct Taken {
  Arguments arguments;
  Arrangement arrangement;
};

bool is_hash_filled(const Case& call) {
  return std::any_of(call.buffers().begin(), call.buffers().end(),
                     [](const Buffer& buffer) { return buffer.hash.has_value(); });
}

/// Nothing of one that was put together by hand. The values of its inputs are named, and left to be
/// given.
std::optional<Taken> taken_apart(const Case& call) {
  if (call.contract() == nullptr) {
    return std::nullopt;
  }
  Taken taken;
  taken.arguments.sizes = sizes_of(call);
  for (const Scalar& scalar : call.contract()->scalars) {
    taken.arguments.scalars[scalar.name] = call.real(scalar.name);
  }
  for (const Tensor& tensor : call.contract()->tensors) {
    const Buffer& buffer = call.buffer(tensor.name);
    if (!buffer.over.empty()) {
      taken.arrangement.over.insert(tensor.name);
    } else if (buffer.null) {
      taken.arrangement.left_out.insert(tensor.name);
    } else {
      const bool aligned = buffer.stride() * size_of(buffer.dtype) % 16 == 0;
      taken.arrangement.places[tensor.name] = {.gap = buffer.stride() - buffer.cols,
                                               .offset = buffer.layout.offset,
                                               .padded = tensor.traits.strided && aligned};
      if (buffer.role != Role::output) {
        taken.arguments.values[tensor.name] = std::nullopt;
      }
    }
  }
  return taken;
}

/// With them. Nothing of a hash filled one.
std::optional<Taken> taken_with_values(const Case& call) {
  std::optional<Taken> taken = is_hash_filled(call) ? std::nullopt : taken_apart(call);
  if (taken) {
    for (auto& [name, values] : taken->arguments.values) {
      values = call.values(name);
    }
  }
  return taken;
}

}  // namespace

Case call(const Function& function, Dtype dtype, Arguments arguments,
          const Arrangement& arrangement) {
  std::erase_if(arguments.values, [](const auto& value) { return !value.second; });
  return Maker(function, dtype, std::move(arguments), arrangement).make();
}

Case call(const Function& function, Arguments arguments, const Arrangement& arrangement) {
  for (const Tensor& tensor : function.tensors) {
    const auto given = arguments.values.find(tensor.name);
    if (!tensor.traits.dtype && given != arguments.values.end() && given->second) {
      const Dtype dtype = given->second->dtype();
      return call(function, dtype, std::move(arguments), arrangement);
    }
  }
  throw std::logic_error("nothing tells the dtype of a call of " + function.name);
}

Sizes sizes_of(const Case& call) {
  Sizes sizes;
  for (const Size& size : call.contract()->sizes) {
    if (size.is_argument) {
      sizes[size.name] = call.integer(size.name);
    }
  }
  return sizes;
}

std::optional<Case> resized(const Case& call, const Sizes& sizes, std::int64_t most, double root) {
  std::optional<Taken> taken = taken_apart(call);
  if (!taken) {
    return std::nullopt;
  }
  const Function& function = *call.contract();
  Arguments& arguments = taken->arguments;
  for (const Scalar& scalar : function.scalars) {
    double& value = arguments.scalars[scalar.name];
    const bool is_real = std::holds_alternative<double>(scalar.usual);
    value = is_real ? std::pow(value, 1.0 / root) : value;
  }
  const Sizes before = all_sizes(function, arguments.sizes, [&](const Tensor& tensor) {
    const Buffer& buffer = call.buffer(tensor.name);
    return arguments.values.count(tensor.name) == 0
               ? std::nullopt
               : std::optional<Extents>({buffer.rows, buffer.cols});
  });
  arguments.sizes = before;
  for (const auto& [name, size] : sizes) {
    arguments.sizes[name] = size;
  }
  std::int64_t elements = 0;
  for (const Tensor& tensor : function.tensors) {
    if (arguments.values.count(tensor.name) > 0) {
      elements += tensor.rows.in(arguments.sizes) * tensor.cols.in(arguments.sizes);
    }
  }
  if (elements > most) {
    return std::nullopt;
  }
  for (const Tensor& tensor : function.tensors) {
    if (const auto given = arguments.values.find(tensor.name); given != arguments.values.end()) {
      const Buffer& old = call.buffer(tensor.name);
      const std::int64_t beyond = old.rows - tensor.rows.in(before);
      const bool is_float = !is_integer(old.dtype);
      given->second = matrix_of(
          old.dtype, tensor.rows.in(arguments.sizes) + beyond, tensor.cols.in(arguments.sizes),
          [&](auto row, auto col) {
            const double value = old.before(row % old.rows, col % old.cols);
            return is_float ? value * unlike(row, old.rows) * unlike(col, old.cols) : value;
          });
    }
  }
  return contract::call(function, call.dtype(), std::move(arguments), taken->arrangement);
}

std::optional<Case> in_dtype(const Case& call, Dtype dtype) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return std::nullopt;
  }
  for (auto& [name, values] : taken->arguments.values) {
    if (!call.contract()->find(name)->traits.dtype) {
      values = Matrix::rounded(dtype, values->field());
    }
  }
  return contract::call(*call.contract(), dtype, std::move(taken->arguments), taken->arrangement);
}

std::optional<Case> with_gaps(const Case& call, std::int64_t most) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return std::nullopt;
  }
  bool changed = false;
  for (auto& [name, place] : taken->arrangement.places) {
    if (place.gap > most) {
      place.gap = most == 0 ? 0 : kMostAligned + place.gap % kMostAligned;
      place.padded = place.padded && most > 0;
      changed = true;
    }
  }
  return !changed ? std::nullopt
                  : std::optional(contract::call(*call.contract(), call.dtype(),
                                                 std::move(taken->arguments), taken->arrangement));
}

std::optional<Case> with_one_stride(const Case& call) {
  const auto has_stride = [&](const Buffer& buffer) {
    const Tensor* tensor = tensor_of(call, buffer.name);
    return tensor != nullptr && tensor->traits.strided && (!buffer.null || !buffer.over.empty());
  };
  std::vector<Buffer> buffers = call.buffers();
  std::int64_t widest = 0;
  for (const Buffer& buffer : buffers) {
    widest = has_stride(buffer) ? std::max(widest, buffer.stride()) : widest;
  }
  Case changed = call;
  for (Buffer& buffer : buffers) {
    if (has_stride(buffer)) {
      buffer.layout.stride = widest;
      changed = changed.with(buffer.name + "_stride", widest);
    }
  }
  changed = changed.with(std::move(buffers));
  const bool is_other = changed.describe() != call.describe();
  return is_other ? std::optional(std::move(changed)) : std::nullopt;
}

std::optional<Case> with_more_rows(const Case& call, const std::string& buffer) {
  const Tensor* tensor = tensor_of(call, buffer);
  const auto is_alike = [&](const Tensor& other) {
    return other.rows == tensor->rows && other.cols == tensor->cols;
  };
  if (tensor == nullptr || tensor->rows == Extent(1) || is_hash_filled(call) ||
      std::any_of(call.contract()->tensors.begin(), call.contract()->tensors.end(),
                  [&](const Tensor& other) { return other.role != input && is_alike(other); })) {
    return std::nullopt;
  }
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& longer : buffers) {
    if (is_alike(*tensor_of(call, longer.name)) && !longer.null) {
      const Buffer before = longer;
      longer.rows *= kMoreRows;
      longer.values = matrix_of(before.dtype, longer.rows, before.cols, [&](auto row, auto col) {
        return before.before(row % before.rows, col) * unlike(row / before.rows, 1);
      });
    }
  }
  return call.with(std::move(buffers));
}

Case spread(const Case& call, const std::string& size, std::int64_t apart) {
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    const std::vector<std::string>& factors = tensor_of(call, buffer.name)->rows.factors;
    if (std::find(factors.begin(), factors.end(), size) != factors.end()) {
      buffer.layout.stride = apart * buffer.cols;
    }
  }
  return call.with(std::move(buffers)).with(size, (call.integer(size) - 1) * apart + 1);
}

const Tensor* tensor_of(const Case& call, const std::string& buffer) {
  return call.contract() == nullptr ? nullptr : call.contract()->find(buffer);
}

bool is_scratch(const Case& call, const std::string& buffer) {
  const Tensor* tensor = tensor_of(call, buffer);
  return tensor != nullptr && tensor->is_scratch();
}

std::int64_t least_bytes(const Function& function, Dtype dtype, const Sizes& sizes) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : function.tensors) {
    if (tensor.is_data()) {
      const auto size = static_cast<std::int64_t>(size_of(tensor.dtype_in(dtype)));
      const int times = tensor.role == in_place ? 2 : 1;
      bytes += times * tensor.rows.in(sizes)*tensor.cols.in(sizes)*size;
    }
  }
  return bytes;
}

}  // namespace onepass::verdict::contract
