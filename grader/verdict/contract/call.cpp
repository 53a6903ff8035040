#include "verdict/contract/call.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace onepass::verdict::contract {
namespace {

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
    std::copy_if(arrangement.views.begin(), arrangement.views.end(), std::back_inserter(views_),
                 [&](const Columns& view) {
                   return arrangement.over.count(view.tensor) == 0 &&
                          arrangement.left_out.count(view.tensor) == 0;
                 });
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

  Place place_of(const std::string& tensor) const {
    const auto found = arrangement_.places.find(tensor);
    return found == arrangement_.places.end() ? Place() : found->second;
  }

  /// So long, or as much longer as makes it a multiple of 16 bytes.
  std::int64_t row_of(const Tensor& tensor, std::int64_t row, bool padded) const {
    const auto vector = 16 / static_cast<std::int64_t>(size_of(tensor.dtype_in(call_.dtype())));
    return padded ? (row + vector - 1) / vector * vector : row;
  }

  /// An output over an input lies as that does.
  Layout layout_of(const Tensor& tensor) const {
    const std::string& name = is_over(tensor) ? tensor.traits.over : tensor.name;
    for (const Columns& view : views_) {
      if (view.tensor == name) {
        return layout_in_matrix(view);
      }
    }
    const auto [gap, offset, padded] = place_of(name);
    return {row_of(tensor, tensor.cols.in(sizes_) + gap, padded), offset};
  }

  Layout layout_in_matrix(const Columns& view) const {
    const std::string& first = views_.front().tensor;
    std::int64_t row = 0, begin = 0;
    bool padded = false;
    for (const Columns& other : views_) {
      const Place place = place_of(other.tensor);
      row += other.tensor == first ? 0 : place.offset;
      begin = other.tensor == view.tensor ? row : begin;
      row += function_.find(other.tensor)->cols.in(sizes_) + place.gap;
      padded = padded || place.padded;
    }
    const std::int64_t stride = view.every * row_of(*function_.find(first), row, padded);
    return view.tensor == first ? Layout{stride, place_of(first).offset}
                                : Layout{stride, begin, first};
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
  std::vector<Columns> views_;
  Sizes sizes_;  // of the tensors
  Sizes told_;   // to the function
  Case call_;
};

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

Case hollow(const Function& function, Dtype dtype, const Sizes& sizes, std::uint64_t seed) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 21;  // bytes: in less, a gap is looked at
  Arguments least{.seed = seed};
  for (const Size& size : function.sizes) {
    least.sizes[size.name] = std::max<std::int64_t>(1, size.least);
  }
  Case call = contract::call(function, dtype, std::move(least));
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    const Tensor& tensor = *function.find(buffer.name);
    buffer.rows = tensor.rows.in(sizes);
    buffer.cols = tensor.is_scratch() ? std::max<std::int64_t>(1, tensor.traits.scratch(sizes))
                                      : tensor.cols.in(sizes);
    if (tensor.traits.strided) {
      call = call.with(tensor.name + "_stride", buffer.cols);
    }
    const std::int64_t elements = buffer.rows * buffer.cols;
    buffer.layout = {};
    if (elements * static_cast<std::int64_t>(size_of(buffer.dtype)) > kSmall) {
      buffer.rows = 2;
      buffer.cols = 1;
      buffer.layout.stride = elements - 1;
    }
    if (buffer.role != output && !buffer.hash) {
      buffer.values = Matrix(buffer.dtype, buffer.rows, buffer.cols);
    }
  }
  for (const Size& size : function.sizes) {
    if (size.is_argument) {
      call = call.with(size.name, sizes.at(size.name));
    }
  }
  return call.with(std::move(buffers));
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

std::string with_parts(const Case& call, const std::string& size) {
  std::string text = size;
  for (const Size& other : call.contract()->sizes) {
    if (other.part_of == size && call.integer(other.name) == call.integer(size)) {
      text += " = " + other.name;
    }
  }
  return text;
}

const Tensor* tensor_of(const Case& call, const std::string& buffer) {
  return call.contract() == nullptr ? nullptr : call.contract()->find(buffer);
}

bool have_one_shape(const Tensor& one, const Tensor& other) {
  return one.rows == other.rows && one.cols == other.cols;
}

bool has_results_shape(const Case& call, const Tensor& tensor) {
  const std::vector<Tensor>& tensors = call.contract()->tensors;
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& other) {
    return other.role != input && have_one_shape(other, tensor);
  });
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
