// Function: what an exercise's function gets, as data: what the contract's header says in words. A
// chapter describes each of its functions once (chapters/<name>/functions.cpp). Its calls follow
// from that (call.h), how it is measured (measured.h), and the layouts of the checks (sweep.h).
//
//     const Function kForward = {"rmsnorm_forward",
//                                {{"rows", 0}, {"cols", 1, 65'536}},
//                                {{"x", input, "rows", "cols", {.strided = true}},
//                                 {"weight", input, 1, "cols"},
//                                 {"y", output, "rows", "cols", {.strided = true}},
//                                 {"rstd", output, "rows", 1, {.dtype = Dtype::fp32}}},
//                                {{"eps", 1e-6}}};
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "verdict/case.h"

namespace onepass::verdict::contract {

using enum Role;
using Sizes = std::map<std::string, std::int64_t>;

/// A number of rows or columns: a product of sizes, divided by a number. "rows", "heads *
/// head_dim", "rotary_dim / 2", 1.
struct Extent {
  std::vector<std::string> factors;
  std::int64_t divisor = 1;

  Extent(const char* text);
  Extent(int one);
  bool operator==(const Extent&) const = default;

  /// "heads * head_dim"
  std::string text() const;

  /// Throws std::logic_error if a factor is unknown.
  std::int64_t in(const Sizes& sizes) const;
  /// If a single factor is unknown, it is what makes the product `extent`.
  void tell(std::int64_t extent, Sizes& sizes) const;
};

/// What onepass/launchers.h promises of sizes without another limit: rows, tokens, channels.
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostHeads = 1024;

/// A size, with the limits that the header promises.
struct Size {
  std::string name;
  std::int64_t least = 1;
  std::int64_t most = kMostRows;
  std::int64_t multiple = 1;         // of pairs it is 2
  std::string part_of = {};          // the size that it is at most, and how much of that it is
  bool is_argument = true;           // or only the extent of a tensor: the function is not told
  bool is_width = most < kMostRows;  // shared by threads; else a launch may have blocks for it

  /// `number`, or what is little more or within the limits.
  std::int64_t nearest(std::int64_t number) const {
    return std::clamp((number + multiple - 1) / multiple * multiple, least, most);
  }
};

/// What most tensors are not.
struct Traits {
  std::optional<Dtype> dtype = {};  // nothing: that of the call
  bool strided = false;             // has a stride of its own, <name>_stride
  bool optional = false;            // may be null
  std::string over = {};            // an output: the input over which it may be written
  double mean = 0.0, scale = 1.0;   // an input: what it holds in a timed call, see HashFill
  bool returned = false;            // no tensor, but what the launcher returns (worker/binding.h)
  /// To be used freely: one row of so many elements. Never compared, and not counted.
  std::int64_t (*scratch)(const Sizes&) = nullptr;
};

struct Tensor {
  std::string name;
  Role role;
  Extent rows, cols;
  Traits traits = {};

  Dtype dtype_in(Dtype call) const { return traits.dtype.value_or(call); }
  bool is_scratch() const { return traits.scratch != nullptr; }
  bool is_data() const { return !is_scratch() && !traits.returned; }
};

/// Inline, for the tables are made before main().
inline const Tensor kReturned = {
    "returned", output, 1, 1, {.dtype = Dtype::int32, .returned = true}};

/// A scalar that is no size, and its usual value.
struct Scalar {
  std::string name;
  std::variant<std::int64_t, double> usual;
};

struct Function {
  std::string name;  // in the binding
  std::vector<Size> sizes;
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars = {};

  /// nullptr if there is no such tensor.
  const Tensor* find(const std::string& tensor) const;
  /// Throws std::out_of_range if there is no such size.
  const Size& size(const std::string& name) const;

  /// The sizes, of those that the function is told, that are the number of rows of some tensor: a
  /// launch has blocks for them. And the widths that are the number of columns of one: a block's
  /// threads share them.
  std::vector<std::string> row_sizes() const;
  std::vector<std::string> col_sizes() const;
};

using Extents = std::pair<std::int64_t, std::int64_t>;  // rows and columns

/// All sizes, from those that are given and the extents of the tensors, where known.
Sizes all_sizes(const Function& function, Sizes sizes,
                const std::function<std::optional<Extents>(const Tensor&)>& extents);

}  // namespace onepass::verdict::contract
