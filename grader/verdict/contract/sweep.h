// The sweep: how the tensors of a function may lie, each way by itself and every two ways together.
// It follows from the description, so that no combination is left out because nobody thought of it.
//
// The ways are, of each tensor,
//   - a start off a 16-byte boundary, by each number of elements that a vector of 16 bytes has;
//     in bf16, which has as many as fp16, by 1, 2 and 4;
//   - rows apart, if it has a stride: so that each row is on such a boundary, and not; in bf16
//     half a vector past it, which a test with the number for fp32 takes for one;
//   - null, if it may be, and over its input, if it may be;
//   - beside another one in one matrix, right behind it: all that have a stride, with the same one,
//     and each two, in either order, with different ones; in bf16 one of these;
//   - together with another one off such a boundary, both by as many bytes, 4 or 8, with all others
//     on one: of few tensors each two, of many some that are drawn;
// and of all of them together rows that fill no vector, without gaps or each starting with one; and
// rows that are longer than whole vectors by each number of elements, in tensors that are all off a
// boundary by the same number: the middle of such a row may be moved 16 bytes at a time.
// Alone each of them shows which one a kernel cannot take. Then come those in which all tensors are
// alike, on boundaries of 16 bytes and no more among them, and a few calls in which every two of
// these ways meet; there a tensor's offset is one drawn from the seed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/values/random.h"

namespace onepass::verdict::contract {

struct Way {
  Arrangement arrangement;
  bool odd_rows = false;  // take rows that fill no vector; else such as do,
  std::int64_t more = 0;  // and are so many elements longer

  /// How long a row is, if it is `whole` where it fills vectors, and `odd` where it does not.
  std::int64_t row(std::int64_t whole, std::int64_t odd) const {
    return odd_rows ? odd : whole + more;
  }

  /// Does any tensor have its rows apart?
  bool has_gaps() const;
};

/// All tensors plain, each way alone, all tensors alike, every two ways together. Of the named
/// tensors only, if some are named: for a check that looks at a part of what the function does.
std::vector<Way> sweep(const Function& function, Dtype dtype, const Random& random,
                       const std::set<std::string>& only = {});

/// All tensors and scratch on a boundary of 16 bytes, and of no more.
Arrangement just_aligned(const Function& function, Dtype dtype);

/// The same arrangement with a null pointer for each tensor that may have one.
Arrangement without_optional(const Function& function, Arrangement arrangement = {});

/// Two tensors off a boundary of 16 bytes by as many bytes, and all others on one: what looks at
/// the difference of two addresses, or puts them together by exclusive or, takes both for aligned.
std::vector<Arrangement> pairs_off_boundaries(const Function& function, Dtype dtype,
                                              const Random& random,
                                              const std::set<std::string>& only = {});

/// For rows so wide, of `cols` columns, that all of these would take too long: all tensors alike,
/// all off a boundary and null what may be, and one way alone that is drawn. Gaps are long too:
/// beside a wide row a short one makes no difference to its mean.
std::vector<Way> sweep_wide(const Function& function, Dtype dtype, const Random& random,
                            std::int64_t cols);

/// Size number `size` of shape number `shape`, of shapes drawn at random, from 3 to `most`: a
/// multiple of 8, which fills vectors of every type, or odd. Of shapes 0 and 1 size 0 alone fills
/// vectors, and all but it do; of 2 and 3 size 1, and so on. So any two sizes differ in some
/// shapes: a kernel that looks at the wrong one before it takes vectors is seen.
std::int64_t drawn_size(const Random& random, std::uint64_t shape, std::uint64_t size,
                        std::int64_t most);

/// One drawn at random: any gap, any offset, now and then null, over its input, or views of one
/// matrix.
Arrangement drawn(const Function& function, const Random& random);

/// Of each tensor with a stride, by itself: rows so far apart that the third starts beyond 2^31
/// elements; then that the stride itself is beyond it, and the third row starts beyond 2^32. The
/// first are for GPUs that have no memory for the second.
std::vector<Arrangement> far_apart(const Function& function);
/// Likewise a stride beyond 2^31, for two rows; also_vectors: also if vectors of 16 bytes are
/// counted, of which eight elements are one. Of the named tensors only, if some are named.
std::vector<Arrangement> beyond_vectors(const Function& function, bool also_vectors,
                                        const std::set<std::string>& only = {});
/// The same for rows that fill no vectors. at_once: in one call, for which a GPU may have no
/// memory, all tensors have strides beyond 2^31, each one of its own.
std::vector<Arrangement> beyond_ints(const Function& function, bool at_once,
                                     const std::set<std::string>& only = {});

/// From `least` to `most`: the numbers beside the powers of two up to 1024, at which vectors, warps
/// and blocks end, and the powers themselves.
std::vector<std::int64_t> widths(std::int64_t least, std::int64_t most);

/// Of each octave from 1024 to `most` one past the power of two that it begins with, and up to
/// 16,384 one past a multiple of 1000 or of 1024 in it, drawn from the seed: there may be an end
/// that a kernel takes for granted.
std::vector<std::int64_t> widths_past_ends(std::int64_t most, const Random& random);

/// Fewer of them, for what is multiplied by other sizes: those around vectors of 2, 4 and 8, a
/// warp, and a block of 128.
std::vector<std::int64_t> some_widths(std::int64_t least, std::int64_t most);

/// The most that the header promises of that size, if it promises an end that the simulator comes
/// to in moments; else nothing.
std::vector<std::int64_t> widest(const Function& function, const std::string& size);

}  // namespace onepass::verdict::contract
