// Case: everything that one call of a student's function gets. Answer: everything that comes back.
//
//     Case call("rmsnorm_forward", Dtype::fp16);
//     call.integer("rows", 3).integer("cols", 1000).integer("x_stride", 1024).real("eps", 1e-6);
//     call.input("x", x, {.stride = 1024}).input("weight", weight);
//     call.output("y", Dtype::fp16, 3, 1000).output("rstd", Dtype::fp32, 3, 1);
//
// The names of buffers and scalars are those that the chapter's binding asks for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "verdict/values/matrix.h"

namespace onepass::verdict {

namespace contract {
struct Function;
}

/// input: read only, and compared with its original afterwards. output: write only, filled with
/// poison before the call. in_place: has contents and may be changed.
enum class Role { input, output, in_place };

/// Where a buffer lies in device memory.
struct Layout {
  std::int64_t stride = 0;  // elements from one row to the next; 0 means dense: cols
  std::int64_t offset = 0;  // elements past an address aligned to 256 bytes

  std::int64_t stride_for(std::int64_t cols) const { return stride == 0 ? cols : stride; }
};

/// Contents computed in the worker from a seed, for tensors too large to send (worker/hash_fill.h).
using wire::HashFill;

struct Buffer {
  std::string name;
  Role role = Role::input;
  Dtype dtype = Dtype::fp32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Layout layout;
  bool null = false;             // has no memory: the function gets a null pointer
  std::string over;              // a null output's: the buffer in whose place it is written
  Matrix values;                 // input and in_place without `hash`: the contents
  std::optional<HashFill> hash;  // instead of `values`

  std::int64_t stride() const { return layout.stride_for(cols); }
};

class Case {
 public:
  /// `function` and `dtype` name an entry of the binding's table. contract: see contract().
  Case(std::string function, Dtype dtype, const contract::Function* contract = nullptr)
      : function_(std::move(function)), dtype_(dtype), contract_(contract) {}
  /// One that has no dtype there.
  explicit Case(std::string function) : function_(std::move(function)) {}

  Case& integer(const std::string& name, std::int64_t value);
  Case& real(const std::string& name, double value);

  Case& input(const std::string& name, Matrix values, Layout layout = {});
  Case& input(const std::string& name, Dtype dtype, std::int64_t rows, std::int64_t cols,
              HashFill hash, Layout layout = {});
  Case& in_place(const std::string& name, Matrix values, Layout layout = {});
  Case& in_place(const std::string& name, Dtype dtype, std::int64_t rows, std::int64_t cols,
                 HashFill hash, Layout layout = {});
  Case& output(const std::string& name, Dtype dtype, std::int64_t rows, std::int64_t cols,
               Layout layout = {});
  /// A buffer that is not there; or, an output, lies over another, which is in_place.
  Case& null(const std::string& name, Role role, Dtype dtype, const std::string& over = "");

  const std::string& function() const { return function_; }
  /// The description that the call was made from (contract/call.h): it outlives the call. nullptr
  /// for one that was put together by hand.
  const contract::Function* contract() const { return contract_; }
  Dtype dtype() const { return dtype_.value(); }  // throws std::bad_optional_access without one
  std::string dtype_name() const { return dtype_ ? name(*dtype_) : ""; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<std::pair<std::string, std::variant<std::int64_t, double>>>& scalars() const {
    return scalars_;
  }

  /// These throw std::out_of_range if there is no such name. `integer` and `real` convert.
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  bool has_scalar(const std::string& name) const;
  const Buffer& buffer(const std::string& name) const;
  /// The buffer, or nullptr if the case has none of this name or the function gets a null pointer.
  const Buffer* find(const std::string& name) const;
  /// The name of the buffer in which that output is found.
  const std::string& place_of(const std::string& output) const;
  /// Do its rows lie further apart than they are long? False where find() gives nullptr.
  bool is_strided(const std::string& name) const;
  /// The contents of an input or in_place buffer as it was before the call; hash filled ones are
  /// computed here.
  Matrix values(const std::string& name) const;

  /// Bytes of all buffers together, gaps between rows included.
  std::int64_t span_bytes() const;

  /// "fp16, rows 3, cols 1000, x_stride 1024, eps 1e-06": what a message says of the call.
  std::string describe() const;

 private:
  Case& add(Buffer buffer);

  std::string function_;
  std::optional<Dtype> dtype_;
  const contract::Function* contract_ = nullptr;
  std::vector<std::pair<std::string, std::variant<std::int64_t, double>>> scalars_;
  std::vector<Buffer> buffers_;
};

/// The bits that outputs hold before the call; an element that still holds them was not written.
/// 0xFF is NaN in all floating-point types, and one that no arithmetic gives; 0x5A is a finite
/// value, for code that treats NaN by luck (max(), comparisons).
enum class Poison : std::uint8_t { nan = 0xFF, finite = 0x5A };

/// What came back from a call that ran to its end: the contents of every buffer afterwards.
struct Answer {
  std::map<std::string, Matrix> buffers;
  Poison poison = Poison::nan;

  const Matrix& operator[](const std::string& name) const { return buffers.at(name); }
};

}  // namespace onepass::verdict
