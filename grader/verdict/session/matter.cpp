#include "verdict/session/matter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/session/explain_finding.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostTried = std::int64_t{1} << 20;  // elements of the inputs of a call
// Two sizes that differ, and share nothing else that small or odd ones have.
constexpr std::int64_t kSmallOne = 24, kLargeOne = 40;
constexpr std::int64_t kLeastPower = 8;  // so that three quarters of it are pairs
// That sums and products of it need rounding.
constexpr double kNoRoundNumber = 0.7317;

/// Those that the function is told.
std::vector<std::string> sizes_told(const Case& call) {
  std::vector<std::string> names;
  for (const contract::Size& size : call.contract()->sizes) {
    if (size.is_argument) {
      names.push_back(size.name);
    }
  }
  return names;
}

std::optional<Case> with(const Case& call, const std::string& size, std::int64_t number) {
  contract::Sizes sizes = contract::sizes_of(call);
  sizes[size] = number;
  return contract::resized(call, sizes, kMostTried);
}

/// Each name by itself, then all together.
std::vector<std::vector<std::string>> each_and_all(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> sets;
  for (const std::string& name : names) {
    sets.push_back({name});
  }
  if (names.size() > 1) {
    sets.push_back(names);
  }
  return sets;
}

bool is(bool wanted, const std::optional<Case>& call, const IsRight& is_right) {
  return call && is_right(*call) == wanted;
}

}  // namespace

std::optional<std::string> matter_of_two_sizes(const Case& call, const IsRight& is_right) {
  const std::vector<std::string> sizes = sizes_told(call);
  for (auto a = sizes.begin(); a != sizes.end(); ++a) {
    for (auto b = a + 1; b != sizes.end(); ++b) {
      const std::int64_t of_a = call.integer(*a), of_b = call.integer(*b);
      const auto is_with = [&](bool wanted, std::int64_t new_a, std::int64_t new_b) {
        contract::Sizes changed = contract::sizes_of(call);
        changed[*a] = new_a;
        changed[*b] = new_b;
        return is(wanted, contract::resized(call, changed, kMostTried), is_right);
      };
      if (of_a > 0 && of_b > 0 && of_a != of_b && is_with(true, of_b, of_b) &&
          is_with(true, of_a, of_a) && is_with(true, kLargeOne, kLargeOne) &&
          (of_a < of_b ? is_with(false, kSmallOne, kLargeOne)
                       : is_with(false, kLargeOne, kSmallOne))) {
        return fmt::format(
            "With {0} = {1} the same call is right, be it {2}, {3} or {4}: it is a matter of the "
            "two being different. Is one of them taken for the other?",
            *a, *b, of_b, of_a, kLargeOne);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> matter_of_powers_of_two(const Case& call, const IsRight& is_right) {
  for (const std::string& size : sizes_told(call)) {
    const contract::Size& limits = call.contract()->size(size);
    const auto number = static_cast<std::uint64_t>(call.integer(size));
    const auto power = std::max(kLeastPower, static_cast<std::int64_t>(std::bit_ceil(number)));
    const auto all_are = [&](bool wanted, const std::vector<std::int64_t>& numbers) {
      return std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t one) {
        return limits.nearest(one) == one && is(wanted, with(call, size, one), is_right);
      });
    };
    const std::vector<std::int64_t> powers = {power / 2, power, 2 * power};
    const std::vector<std::int64_t> others = {power / 4 * 3, power / 2 * 3};
    if (!std::has_single_bit(number) && all_are(false, {others[0]}) && all_are(true, powers) &&
        all_are(false, others)) {
      return fmt::format(
          "With {} = {} the same call is right, with {} it is not: look for what holds of powers "
          "of two only, such as halving, or an exchange between lanes by xor.",
          contract::with_parts(call, size), fmt::join(powers, ", "), fmt::join(others, ", "));
    }
  }
  return std::nullopt;
}

std::optional<std::string> matter_of_lost_alignment(const Case& call, const IsRight& is_right) {
  if (!is(true, contract::rows_past_boundaries(call, 0), is_right) ||
      !is(false, contract::rows_past_boundaries(call, 1), is_right)) {
    return std::nullopt;
  }
  return "With rows that all begin at a multiple of 16 bytes the same call is right, and with rows "
         "that begin one element further on it is not: look at what is done where they are not "
         "aligned.";
}

std::optional<std::string> matter_of_rounding(const Case& call, const IsRight& is_right) {
  if (size_of(call.dtype()) != 2 || !is(true, contract::in_dtype(call, Dtype::fp32), is_right) ||
      !is(true, contract::with_small_whole_numbers(call), is_right)) {
    return std::nullopt;
  }
  return fmt::format(
      "In fp32 the same call is right, and in {} it is where all numbers are -1, 0, 1 or 2, which "
      "need no rounding: is something rounded to {} before the very end, or not to the nearest "
      "number?",
      name(call.dtype()), name(call.dtype()));
}

std::optional<std::string> matter_of_null(const Case& call, const IsRight& is_right) {
  std::vector<std::string> null;
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.null && buffer.role == Role::input) {
      null.push_back(buffer.name);
    }
  }
  for (const std::vector<std::string>& inputs : each_and_all(null)) {
    if (is(true, contract::with_given(call, inputs), is_right)) {
      return fmt::format(
          "With {0} given the same call is right, and where {1} null it is not: look "
          "at what is taken then.",
          fmt::join(inputs, " and "), inputs.size() > 1 ? "they are" : "it is");
    }
  }
  return std::nullopt;
}

std::optional<std::string> matter_of_place(const Case& call, const IsRight& is_right) {
  std::vector<std::string> of_other_shapes;
  for (const contract::Tensor& tensor : call.contract()->tensors) {
    if (tensor.role == Role::input && !contract::has_results_shape(call, tensor)) {
      of_other_shapes.push_back(tensor.name);
    }
  }
  for (const std::vector<std::string>& inputs : each_and_all(of_other_shapes)) {
    if (is(true, contract::with_all_alike(call, inputs), is_right) &&
        is(true, contract::with_all_alike(call, inputs, kNoRoundNumber), is_right)) {
      return fmt::format(
          "Where {}{} has the same number everywhere the same call is right: look at which of its "
          "elements is taken where.",
          inputs.size() > 1 ? "each of " : "", fmt::join(inputs, ", "));
    }
  }
  return std::nullopt;
}

std::optional<std::string> matter_of_input(const Case& call, const IsRight& is_right,
                                           const Tells& tells) {
  const std::vector<contract::Tensor>& tensors = call.contract()->tensors;
  const auto is_row_input = [&](const contract::Tensor& tensor) {
    return tensor.role == Role::input && contract::has_results_shape(call, tensor);
  };
  const bool are_several = std::count_if(tensors.begin(), tensors.end(), is_row_input) > 1;
  for (const contract::Tensor& tensor : tensors) {
    if (tensor.role != Role::input || (is_row_input(tensor) && !are_several)) {
      continue;  // without the only input nothing is left that could be wrong
    }
    for (const double number : {0.0, 1.0}) {
      const std::optional<Case> other = contract::with_all_alike(call, {tensor.name}, number);
      if (other && tells(*other) && is(true, other, is_right)) {
        return fmt::format(
            "Where {0} is {1} everywhere the same call is right: look at how {0} enters.",
            tensor.name, number);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> matter_of_scalar(const Case& call, const IsRight& is_right) {
  for (const contract::Scalar& scalar : call.contract()->scalars) {
    const double* usual = std::get_if<double>(&scalar.usual);
    if (usual != nullptr && is(true, contract::with_scalar(call, scalar.name, 0.0), is_right) &&
        is(false, contract::with_scalar(call, scalar.name, 4.0 * *usual), is_right)) {
      return fmt::format("Where {0} is 0 the same call is right: look at how {0} enters.",
                         scalar.name);
    }
  }
  return std::nullopt;
}

std::optional<std::string> matter_of_one_address(const Case& call, const IsRight& is_right) {
  for (const contract::Tensor& tensor : call.contract()->tensors) {
    if (is(true, contract::aligned(call, tensor.name), is_right)) {
      return fmt::format(
          "With {0} at a multiple of 16 bytes{1} the same call is right: look at what is done "
          "where {0} is not aligned.",
          tensor.name, tensor.traits.strided ? ", and so its rows," : "");
    }
  }
  return std::nullopt;
}

std::optional<std::string> matter_of_alignment(const Case& call, const IsRight& is_right) {
  if (!is(true, contract::one_element_off(call), is_right)) {
    return std::nullopt;
  }
  return "With inputs that begin one element further on the same call is right: look at what is "
         "done where tensors are aligned, and at when it is.";
}

std::optional<std::string> matter_of_small_sizes(const Case& call, const IsRight& is_right) {
  for (const std::string& size : sizes_told(call)) {
    const std::int64_t whole = in_whole_blocks(call, size);
    if (whole == 0 || whole == call.integer(size) || !is(true, with(call, size, whole), is_right)) {
      continue;
    }
    const std::string name = contract::with_parts(call, size);
    const std::string right = fmt::format("With {} = {} the same call is right", name, whole);
    const std::int64_t step = call.contract()->size(size).multiple;
    if (!is(true, with(call, size, whole + step), is_right)) {
      // Unless it is a matter of other numbers than those that fill something.
      return right + (is(false, with(call, size, whole - 2 * step), is_right)
                          ? ": look at what is done where " + size +
                                " fills no whole number of warps, blocks or packs."
                          : ".");
    }
    const auto [low, high] = end_between(call.integer(size), whole, [&](std::int64_t middle) {
      return !is(true, with(call, size, middle), is_right);
    });
    // Else it goes up and down, and where it changes tells nothing.
    const bool is_an_end =
        is(true, with(call, size, high + (whole - high) / 2), is_right) &&
        is(false, with(call, size, low - (low - call.integer(size)) / 2), is_right);
    return is_an_end ? fmt::format(
                           "With {0} = {1} the same call is right, with {0} = {2} "
                           "it is not: look at what is done where {0} is small.",
                           name, high, low)
                     : right + '.';
  }
  if (goes_well_in_whole(call, [&](const Case& other) { return is_right(other) == true; })) {
    return fmt::format(
        "With {} that fill all warps and blocks the same call is right: look at what is done where "
        "they do not.",
        fmt::join(sizes_told(call), " and "));
  }
  return std::nullopt;
}

}  // namespace onepass::verdict
