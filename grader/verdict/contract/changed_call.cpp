// A call like another one, in one respect changed.
#include <algorithm>
#include <cmath>
#include <utility>

#include "verdict/contract/taken.h"
#include "verdict/values/random.h"

namespace onepass::verdict::contract {
namespace {

constexpr std::int64_t kMostAligned = 64;  // elements, to which a row may be aligned
constexpr std::int64_t kMoreRows = 8;      // times as many as there are

/// Of the copies that a single row or column is repeated in each has numbers of its own: what is
/// the same everywhere hides what is wrong.
double unlike(std::int64_t index, std::int64_t extent) {
  return extent == 1 ? 1.0 + 0.125 * static_cast<double>(index % 5) : 1.0;
}

}  // namespace

std::optional<Case> with_other_choice(const Case& call) {
  std::optional<Taken> taken = call.contract() == nullptr ? std::nullopt : taken_with_values(call);
  bool has_choice = false;
  for (const Scalar& scalar : taken ? call.contract()->scalars : std::vector<Scalar>()) {
    if (std::holds_alternative<std::int64_t>(scalar.usual)) {
      double& value = taken->arguments.scalars[scalar.name];
      value = 1.0 - value;
      has_choice = true;
    }
  }
  return has_choice ? std::optional(made_of(call, std::move(*taken))) : std::nullopt;
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
  const Sizes before = every_size(call);
  arguments.sizes = before;
  for (const auto& [name, size] : sizes) {
    arguments.sizes[name] = size;
  }
  for (const Size& size : function.sizes) {
    if (!size.part_of.empty()) {
      const std::int64_t whole = arguments.sizes[size.part_of];
      std::int64_t& part = arguments.sizes[size.name];
      part = before.at(size.name) == before.at(size.part_of) ? whole : std::min(part, whole);
    }
  }
  if (std::any_of(function.sizes.begin(), function.sizes.end(), [&](const Size& size) {
        return arguments.sizes[size.name] < std::min(size.least, before.at(size.name));
      })) {
    return std::nullopt;
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

std::optional<Case> not_in_place(const Case& call) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken || taken->arrangement.over.empty()) {
    return std::nullopt;
  }
  Arrangement& arrangement = taken->arrangement;
  for (const std::string& output : std::exchange(arrangement.over, {})) {
    arrangement.places[output] = arrangement.places[call.contract()->find(output)->traits.over];
  }
  return made_of(call, std::move(*taken));
}

std::optional<Case> one_element_off(const Case& call) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return std::nullopt;
  }
  bool changed = false;
  for (auto& [name, place] : taken->arrangement.places) {
    const Tensor& tensor = *call.contract()->find(name);
    if (tensor.role == input && place.offset % 2 == 0) {
      ++place.offset;
      place.gap += tensor.traits.strided ? call.buffer(name).stride() % 2 : 0;
      changed = true;
    }
  }
  return changed ? std::optional(made_of(call, std::move(*taken))) : std::nullopt;
}

namespace {

/// With the rows of those tensors, `which`, so many elements past a boundary, and `more` vectors
/// further apart.
std::optional<Case> with_rows_at(const Case& call, std::int64_t elements, std::int64_t more,
                                 const std::function<bool(const std::string&)>& which) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken || !taken->arrangement.views.empty()) {
    return std::nullopt;
  }
  bool changed = false;
  for (auto& [name, place] : taken->arrangement.places) {
    if (!which(name)) {
      continue;
    }
    const Buffer& buffer = call.buffer(name);
    const auto vector = 16 / static_cast<std::int64_t>(size_of(buffer.dtype));
    const bool is_strided = call.contract()->find(name)->traits.strided;
    const std::int64_t stride =
        is_strided ? (buffer.stride() + vector - 1) / vector * vector : buffer.stride();
    changed = changed || place.offset % vector != 0 || stride != buffer.stride();
    place = {.gap = is_strided ? stride - buffer.cols + more * vector : 0, .offset = elements};
  }
  return changed ? std::optional(made_of(call, std::move(*taken))) : std::nullopt;
}

}  // namespace

std::optional<Case> rows_past_boundaries(const Case& call, std::int64_t elements) {
  return with_rows_at(call, elements, 1, [](const std::string&) { return true; });
}

std::optional<Case> aligned(const Case& call, const std::string& tensor) {
  return with_rows_at(call, 0, 0, [&](const std::string& name) { return name == tensor; });
}

std::optional<Case> with_scalar(const Case& call, const std::string& scalar, double number) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return std::nullopt;
  }
  taken->arguments.scalars[scalar] = number;
  return made_of(call, std::move(*taken));
}

namespace {

/// The same call with other numbers in the inputs that have rows, number(values, row, col).
template <typename Number>
std::optional<Case> with_rows_of(const Case& call, Number number) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return std::nullopt;
  }
  for (auto& [name, values] : taken->arguments.values) {
    const Tensor& tensor = *call.contract()->find(name);
    if (tensor.rows != Extent(1) && tensor.cols != Extent(1) && !is_integer(values->dtype())) {
      const Matrix before = *values;
      values = matrix_of(before.dtype(), before.rows(), before.cols(),
                         [&](auto row, auto col) { return number(before, row, col); });
    }
  }
  return made_of(call, std::move(*taken));
}

}  // namespace

std::optional<Case> with_outliers(const Case& call) {
  constexpr double kTimes = 32.0, kMost = 32768.0;  // which fp16 holds
  const Random draw(0);
  return with_rows_of(call, [&](const Matrix& values, auto row, auto col) {
    const auto number = static_cast<std::uint64_t>(row * values.cols() + col);
    const double value = values.get(row, col);
    const bool is_one = draw.integer(number, 0, 255) == 0 && std::abs(value) * kTimes < kMost;
    return is_one ? value * kTimes : value;
  });
}

std::optional<Case> with_uneven_rows(const Case& call) {
  bool is_flat = true;
  const Random draw(0);
  std::optional<Case> uneven = with_rows_of(call, [&](const Matrix& values, auto row, auto col) {
    is_flat = is_flat && values.cols() > 1 && values.get(row, col) == values.get(row, 0);
    return draw.normal(static_cast<std::uint64_t>(row * values.cols() + col));
  });
  return is_flat ? uneven : std::nullopt;
}

std::optional<Case> with_all_alike(const Case& call, const std::vector<std::string>& inputs,
                                   std::optional<double> number) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return std::nullopt;
  }
  bool changed = false;
  for (const std::string& input : inputs) {
    const auto found = taken->arguments.values.find(input);
    if (found != taken->arguments.values.end()) {
      const Matrix before = *found->second;
      const double value = number.value_or(before.get(0, 0));
      found->second =
          matrix_of(before.dtype(), before.rows(), before.cols(), [&](auto row, auto col) {
            changed = changed || before.get(row, col) != value;
            return value;
          });
    }
  }
  return changed ? std::optional(made_of(call, std::move(*taken))) : std::nullopt;
}

std::optional<Case> with_small_whole_numbers(const Case& call) {
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return std::nullopt;
  }
  for (auto& [name, values] : taken->arguments.values) {
    const Matrix before = *values;
    if (is_integer(before.dtype())) {
      continue;
    }
    bool is_positive = true;
    for (std::int64_t row = 0; row < before.rows(); ++row) {
      for (std::int64_t col = 0; col < before.cols(); ++col) {
        is_positive = is_positive && before.get(row, col) > 0.0;
      }
    }
    const Random draw = Random(1).stream(name);
    values = matrix_of(before.dtype(), before.rows(), before.cols(), [&](auto row, auto col) {
      const auto number = static_cast<std::uint64_t>(row * before.cols() + col);
      const std::int64_t least = is_positive ? 1 : -1;
      return static_cast<double>(draw.integer(number, least, is_positive ? 2 : 1));
    });
  }
  return made_of(call, std::move(*taken));
}

std::optional<Case> with_given(const Case& call, const std::vector<std::string>& inputs) {
  std::optional<Taken> taken = taken_with_values(call);
  const Sizes sizes = taken ? every_size(call) : Sizes{};
  bool changed = false;
  for (const std::string& input : taken ? inputs : std::vector<std::string>()) {
    if (taken->arrangement.left_out.erase(input) > 0) {
      const Tensor& tensor = *call.contract()->find(input);
      taken->arguments.values[input] = Random(1).stream(input).uniform_matrix(
          tensor.dtype_in(call.dtype()), tensor.rows.in(sizes), tensor.cols.in(sizes), 0.5, 1.5);
      changed = true;
    }
  }
  return changed ? std::optional(made_of(call, std::move(*taken))) : std::nullopt;
}

std::optional<Case> turned_round(const Case& call) {
  return with_rows_of(call, [](const Matrix& values, auto row, auto col) {
    return values.get(row, values.cols() - 1 - col);
  });
}

std::optional<Case> with_less_mean(const Case& call) {
  constexpr double kLarge = 16.0;  // deviations
  std::optional<Taken> taken = taken_with_values(call);
  if (!taken || taken->arguments.values.count("x") == 0) {
    return std::nullopt;
  }
  Matrix& x = *taken->arguments.values.at("x");
  const Field before = x.field();
  const auto count = static_cast<double>(before.values.size());
  double mean = 0.0;
  for (const double value : before.values) {
    mean += value / count;
  }
  double variance = 0.0;
  for (const double value : before.values) {
    variance += (value - mean) * (value - mean) / count;
  }
  if (!(std::abs(mean) > kLarge * std::sqrt(variance))) {
    return std::nullopt;
  }
  x = matrix_of(x.dtype(), x.rows(), x.cols(),
                [&](auto row, auto col) { return before(row, col) - mean; });
  return made_of(call, std::move(*taken));
}

std::optional<Case> changed_slightly(const Case& call, std::uint64_t number) {
  // No sum of powers of two; more than a sum in fp32 is rounded by, and less than 16 bits tell.
  constexpr double kTimes = 1.1, kFactor = 0x1p-21, kStep = 0x1p-22;
  const std::optional<Case> in_fp32 = in_dtype(call, Dtype::fp32);
  std::optional<Taken> taken = in_fp32 ? taken_with_values(*in_fp32) : std::nullopt;
  if (!taken || taken->arguments.values.count("x") == 0) {
    return std::nullopt;
  }
  Matrix& x = *taken->arguments.values.at("x");
  const Field before = x.field();
  double largest = 0.0;
  for (const double value : before.values) {
    largest = std::max(largest, std::abs(value));
  }
  const Random draw(number);
  const double times = kTimes * (1.0 + kFactor * static_cast<double>(number));
  x = matrix_of(x.dtype(), x.rows(), x.cols(), [&](auto row, auto col) {
    const auto element = static_cast<std::uint64_t>(row * before.cols + col);
    const auto steps = static_cast<double>(draw.integer(element, 0, 15));
    return times * (before(row, col) + kStep * largest * steps);
  });
  return contract::call(*call.contract(), Dtype::fp32, std::move(taken->arguments),
                        taken->arrangement);
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
  return changed ? std::optional(made_of(call, std::move(*taken))) : std::nullopt;
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
  if (tensor == nullptr || tensor->rows == Extent(1) || is_hash_filled(call) ||
      has_results_shape(call, *tensor)) {
    return std::nullopt;
  }
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& longer : buffers) {
    if (have_one_shape(*tensor_of(call, longer.name), *tensor) && !longer.null) {
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

}  // namespace onepass::verdict::contract
