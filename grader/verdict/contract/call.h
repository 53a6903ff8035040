// The calls of a function that follow from its description.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verdict/case.h"
#include "verdict/contract/function.h"

namespace onepass::verdict::contract {

/// Where a tensor lies, in elements: `gap` between the end of a row and the start of the next,
/// `offset` past an address aligned to 256 bytes. padded: the gap is what makes the stride a
/// multiple of 16 bytes.
struct Place {
  std::int64_t gap = 0;
  std::int64_t offset = 0;
  bool padded = false;
};

/// A tensor that is some columns of a matrix, in each row of it or in every so many-th.
struct Columns {
  std::string tensor;
  std::int64_t every = 1;
};

/// How the tensors of a call lie: those that are named here in another way than densely, by
/// themselves, at an aligned address.
///
///     {{"x", {.gap = 24}}, {"y", {.gap = 7, .offset = 1}}}
struct Arrangement {
  std::map<std::string, Place> places;
  std::set<std::string> left_out;  // optional ones: the function gets a null pointer
  std::set<std::string> over;      // outputs that are written over the input that they may be over
  /// Views of one matrix, which has their columns side by side, in this order. There a gap is
  /// between the end of a tensor's row and what follows in the matrix's; an offset, but for that of
  /// the first, is before it. One without a place of its own is not in it.
  std::vector<Columns> views;

  Arrangement() = default;
  Arrangement(std::initializer_list<std::pair<const std::string, Place>> tensors)
      : places(tensors) {}
};

/// What a call is given. Sizes that the tensors tell need not be; a scalar is the usual one.
struct Arguments {
  std::map<std::string, std::optional<Matrix>> values = {};  // of inputs; nothing: not given
  std::map<std::string, double> scalars = {};
  Sizes sizes = {};
  /// An input without values is filled from this seed (integers are 0); without a seed it is null,
  /// if it may be.
  std::optional<std::uint64_t> seed = {};
  /// A size that the function is told is 0, whatever the tensors hold. What it would change in
  /// place is an input then: it must not.
  std::string none = {};
};

/// Throws std::logic_error if the arguments do not fit the function. A tensor may have more rows
/// than its extent, for what would be out of bounds to be a wrong number. The case keeps a pointer
/// to the function.
Case call(const Function& function, Dtype dtype, Arguments arguments,
          const Arrangement& arrangement = {});
/// The same in the dtype of the values that have no dtype of their own.
Case call(const Function& function, Arguments arguments, const Arrangement& arrangement = {});
Case call(Function&&, Dtype, Arguments, const Arrangement& = {}) = delete;
Case call(Function&&, Arguments, const Arrangement& = {}) = delete;

/// A call of any sizes, dense, of whose large tensors only the first and the last element have
/// numbers. All that is between is memory that nobody has filled.
Case hollow(const Function& function, Dtype dtype, const Sizes& sizes, std::uint64_t seed);

/// The sizes that the call's function is told.
Sizes sizes_of(const Case& call);
/// A size in words, with what is a part of it and as large: "head_dim = rotary_dim".
std::string with_parts(const Case& call, const std::string& size);

/// The same call in each way in which what is promised of its traffic holds as well, one at a time:
/// with the other choice (an order, a pairing), and without each tensor that may be null. off: and
/// with each tensor that begins one element further on. Nothing of a hash filled call.
std::vector<Case> other_ways(const Case& call, bool off);

// ---- changed_call.cpp

/// The same call with other sizes: rows and columns of its inputs are repeated (a single one in
/// other numbers), or left out. Of real scalars the `root`-th root is taken; all other arguments
/// and how the tensors lie stay. What is a part of another size is at most that, and all of it
/// where it was. Nothing if the inputs would have more than `most` elements, or a size would be
/// less than its function takes.
std::optional<Case> resized(const Case& call, const Sizes& sizes, std::int64_t most,
                            double root = 1.0);

/// The same call on the same numbers in another dtype. Nothing of a hash filled call.
std::optional<Case> in_dtype(const Case& call, Dtype dtype);

/// The same call with memory of its own, laid out as that, for each output that lies over an input.
/// Nothing if none does, or of a hash filled call.
std::optional<Case> not_in_place(const Case& call);

/// The same call with inputs that begin an odd number of elements past an aligned address, and so
/// do their rows that have a stride: no vector is aligned. Nothing if they do already, or of a hash
/// filled call.
std::optional<Case> one_element_off(const Case& call);

/// The same call with each tensor's rows so many elements past an address that 16 divides. Nothing
/// if all of them begin at such addresses as it is, of views of one matrix, or of a hash filled
/// call.
std::optional<Case> rows_past_boundaries(const Case& call, std::int64_t elements);

/// The same call with that tensor at an address that 16 divides, and so its rows if it has a
/// stride. Nothing if it lies so already, of views of one matrix, or of a hash filled call.
std::optional<Case> aligned(const Case& call, const std::string& tensor);

/// The same call with that number for a scalar. Nothing of a hash filled call.
std::optional<Case> with_scalar(const Case& call, const std::string& scalar, double number);

/// The same call with a few elements, one of 256 or so, many times as large, in the inputs that
/// have rows: the sum over some of the columns comes to no other sum's. Nothing of a hash filled
/// call.
std::optional<Case> with_outliers(const Case& call);

/// The same call with the rows of these inputs turned round. Nothing of a hash filled call.
std::optional<Case> turned_round(const Case& call);

/// The call with the other one of two choices, such as a cast order; nothing if it has none.
std::optional<Case> with_other_choice(const Case& call);

/// The same call with x less the mean of all its elements, which leaves numbers about 0. Nothing of
/// a hash filled call, or if x is not large beside how far its elements lie apart.
std::optional<Case> with_less_mean(const Case& call);

/// The same call with rows of different numbers, where all rows of all inputs that have rows are
/// alike all along. Nothing if one is not, if rows have one column, or of a hash filled call.
std::optional<Case> with_uneven_rows(const Case& call);

/// The same call in which each of these inputs has one number in all places: that one, or else that
/// of its first. Nothing if they have already, or of a hash filled call.
std::optional<Case> with_all_alike(const Case& call, const std::vector<std::string>& inputs,
                                   std::optional<double> number = {});

/// The same call with -1, 0 and 1 for numbers, and 1 and 2 for those of an input that are positive.
/// Nothing of a hash filled call.
std::optional<Case> with_small_whole_numbers(const Case& call);

/// The same call in which each of these inputs, if it is null, has numbers from 0.5 to 1.5. Nothing
/// if none is, or of a hash filled call.
std::optional<Case> with_given(const Case& call, const std::vector<std::string>& inputs);

/// The same call in fp32, with x a little larger, each element by itself: by some units in the last
/// place, for each `number` by others. What a formula gives stays; what is left of two large
/// numbers that cancel does not. Nothing of a hash filled call.
std::optional<Case> changed_slightly(const Case& call, std::uint64_t number);

/// The same call with rows that lie nearer: gaps of more than `most` elements are closed, or, if
/// `most` is not 0, as small as leaves each row aligned as it was; it is at least 128 then. Nothing
/// if no gap is so large, or of a hash filled call.
std::optional<Case> with_gaps(const Case& call, std::int64_t most);

/// The same call with the largest stride of all for each tensor that has one. Nothing if they are
/// alike already.
std::optional<Case> with_one_stride(const Case& call);

/// The same call with many times the rows in that tensor and in those that have its shape, each
/// with numbers of its own, for rows past its end to be wrong numbers. Nothing but of an input that
/// the function looks things up in: no result has its shape.
std::optional<Case> with_more_rows(const Case& call, const std::string& buffer);

/// The same call with a size so much larger that those rows that it has are now `apart` rows from
/// one to the next, the last one the last. Between them is memory that nobody has filled.
Case spread(const Case& call, const std::string& size, std::int64_t apart);

// ---- call.cpp

/// What describes that buffer of the call; nullptr if nothing does.
const Tensor* tensor_of(const Case& call, const std::string& buffer);
/// Have both as many rows and columns, in every call?
bool have_one_shape(const Tensor& one, const Tensor& other);
/// Does a result of the call's function have the tensor's shape?
bool has_results_shape(const Case& call, const Tensor& tensor);
/// Is it scratch?
bool is_scratch(const Case& call, const std::string& buffer);

/// The least number of bytes that any kernel can move: each input read once, each output written
/// once, all others not at all.
std::int64_t least_bytes(const Function& function, Dtype dtype, const Sizes& sizes);

}  // namespace onepass::verdict::contract
