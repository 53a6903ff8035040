// Case: everything that one call of a student's function gets. Answer: everything that comes back.
//
//     Case call("rmsnorm_forward", Dtype::fp16);
//     call.integer("rows", 3).integer("cols", 1000).integer("x_stride", 1024).real("eps", 1e-6);
//     call.add({.name = "y", .role = Role::output, .dtype = Dtype::fp16, .rows = 3, .cols = 1000});
//
// The names of buffers and scalars are those that the chapter's binding asks for. The calls of an
// exercise are made from its function's description (contract/call.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  std::int64_t offset = 0;  // elements past an address aligned to 256 bytes,
  std::string in = {};      // or past the first of this buffer, between whose rows its own lie

  std::int64_t stride_for(std::int64_t cols) const { return stride == 0 ? cols : stride; }
};

/// Contents computed in the worker from a seed, for tensors too large to send (worker/hash_fill.h).
using wire::HashFill;

struct Buffer {
  std::string name = {};
  Role role = Role::input;
  Dtype dtype = Dtype::fp32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Layout layout = {};
  bool null = false;                  // has no memory: the function gets a null pointer
  std::string over = {};              // a null output's: the buffer in whose place it is written
  Matrix values = {};                 // input and in_place without `hash`: the contents
  std::optional<HashFill> hash = {};  // instead of `values`

  std::int64_t stride() const { return layout.stride_for(cols); }
  /// An element of an input or in_place buffer as it is before the call.
  double before(std::int64_t row, std::int64_t col) const;
};

class Case {
 public:
  /// `function` and `dtype`, if it has one, name an entry of the binding's table. contract: see
  /// contract().
  explicit Case(std::string function, std::optional<Dtype> dtype = std::nullopt,
                const contract::Function* contract = nullptr)
      : function_(std::move(function)), dtype_(dtype), contract_(contract) {}

  Case& integer(const std::string& name, std::int64_t value);
  Case& real(const std::string& name, double value);
  Case& add(Buffer buffer);
  /// The same call with other buffers; with another value of an integer that it has.
  Case with(std::vector<Buffer> buffers) const;
  Case with(const std::string& integer, std::int64_t value) const;

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
  /// The contents of an input or in_place buffer before the call; hash filled ones are computed,
  /// once.
  const Matrix& values(const std::string& name) const;

  /// Bytes of all buffers together, gaps between rows included.
  std::int64_t span_bytes() const;

  /// "fp16, rows 3, cols 1000, x_stride 1024, eps 1e-06, y 2 bytes past a multiple of 16": what a
  /// message says of the call.
  std::string describe() const;

 private:
  std::string function_;
  std::optional<Dtype> dtype_;
  const contract::Function* contract_ = nullptr;
  std::vector<std::pair<std::string, std::variant<std::int64_t, double>>> scalars_;
  std::vector<Buffer> buffers_;
  mutable std::map<std::string, std::shared_ptr<const Matrix>> computed_;  // see values()
};

/// The call, with an ordinary number in the place of each infinite one and NaN.
Case made_finite(const Case& call);

/// The bits that outputs hold before the call; an element that still holds them was not written.
/// 0xFF is NaN in all floating-point types, and one that no arithmetic gives; 0x5A is a finite
/// value, for code that treats NaN by luck (max(), comparisons).
enum class Poison : std::uint8_t { nan = 0xFF, finite = 0x5A };

/// How a kernel was launched: how many blocks, the threads of each, and those of them in x.
struct LaunchSize {
  std::int64_t blocks = 0, threads = 0, threads_x = 0;
};

/// What came back from a call that ran to its end: the contents of every buffer afterwards.
struct Answer {
  std::map<std::string, Matrix> buffers;
  Poison poison = Poison::nan;
  std::vector<LaunchSize> launches = {};  // where the device tells

  const Matrix& operator[](const std::string& name) const { return buffers.at(name); }
};

}  // namespace onepass::verdict
