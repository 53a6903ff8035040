// Function: what an exercise's function gets, as data: what the contract's header says in words. A
// chapter describes each of its functions once (chapters/<name>/functions.cpp); the calls of
// checks, of timing and of comparisons follow from that (call.h), and so do the layouts of the
// checks (arrangements.h).
//
//     Function forward = {"rmsnorm_forward",
//                         {{"rows", 0, kMostInt}, {"cols", 1, 65536}},
//                         {input("x", "rows", "cols").strided(), input("weight", 1, "cols"),
//                          output("y", "rows", "cols").strided(),
//                          output("rstd", "rows", 1).of(Dtype::fp32)},
//                         {{"eps", 1e-6}}};
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "verdict/case.h"

namespace onepass::verdict::contract {

using Sizes = std::map<std::string, std::int64_t>;

/// A number of rows or columns: a product of sizes, divided by a number. "rows", "heads *
/// head_dim", "rotary_dim / 2", 1.
struct Extent {
  std::vector<std::string> factors;
  std::int64_t divisor = 1;

  Extent(const char* text);  // NOLINT: a description reads better without the type's name
  Extent(int number);        // NOLINT: 1

  /// Throws std::logic_error if a factor is unknown.
  std::int64_t in(const Sizes& sizes) const;
  /// If a single factor is unknown, it is what makes the product `extent`.
  void tell(std::int64_t extent, Sizes& sizes) const;
};

/// Of the sizes that the function is told, the limits that its header promises.
struct Size {
  std::string name;
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<int>::max();
  bool is_argument = true;  // or only the extent of a tensor: the function is not told
};
inline constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

struct Tensor {
  std::string name;
  Role role = Role::input;
  Extent rows = 1, cols = 1;
  std::optional<Dtype> dtype;  // nothing: that of the call
  bool is_strided = false;     // has a stride of its own, <name>_stride
  bool is_optional = false;    // may be null
  std::string may_be_over;     // an output: the input over which it may be written
  HashFill fill;               // an input: what it holds in a timed call
  /// To be used freely: so many numbers in one row, a number of the function's sizes. Never
  /// compared or counted. Null where there is none.
  std::int64_t (*scratch)(const Sizes&) = nullptr;

  Tensor of(Dtype type) &&;
  Tensor strided() &&;
  Tensor optional() &&;
  Tensor over(const char* input) &&;
  /// From mean - scale to mean + scale.
  Tensor filled(double mean, double scale) &&;

  Dtype dtype_in(Dtype call) const { return dtype.value_or(call); }
};

Tensor input(const char* name, Extent rows, Extent cols);
Tensor output(const char* name, Extent rows, Extent cols);
Tensor in_place(const char* name, Extent rows, Extent cols);
Tensor scratch(const char* name, std::int64_t (*size)(const Sizes&));
/// What the launcher returns (worker/binding.h).
Tensor returned();

/// A scalar that is no size, and its usual value.
struct Scalar {
  std::string name;
  std::variant<std::int64_t, double> usual;
};

struct Function {
  std::string name;  // in the binding
  std::vector<Size> sizes;
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars;
};

}  // namespace onepass::verdict::contract
