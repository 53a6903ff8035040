// Checks that follow from a function's description: every way that its tensors may lie, and sizes
// where kernels go wrong.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "chapters/common/shapes.h"
#include "verdict/contract/sweep.h"

namespace onepass::common {

using verdict::contract::just_aligned;

/// Every way that a function's tensors may lie (the sweep), in every type. `number` counts those of
/// a type, to take other sizes for each. only: the tensors that matter to the check, if not all do.
using CheckWay =
    std::function<void(Dtype dtype, std::size_t number, const verdict::contract::Way& way)>;
void sweep(const Function& function, const CheckWay& check, const std::set<std::string>& only = {});

/// Of each tensor that has one number a row (a channel, a token), that it starts off a 16-byte
/// boundary, for numbers of several rows are stored at once where there are several. Of the named
/// tensors only, if some are named.
std::vector<Arrangement> columns_off_boundaries(const Function& function, Dtype dtype,
                                                const std::set<std::string>& only = {});

/// All tensors that have a stride with rows far apart, which are no wider for that.
Arrangement rows_far_apart(const Function& function);

/// Runs the function once for each of its sizes that may be 0, with that one at 0 and all others as
/// small as they get. Nothing may be written.
void expect_nothing_done(const Function& function);

/// Runs the function with one of its sizes large and all others small: one past ends
/// that a kernel may have, and past 65,535, where a grid's y and z end. Of kernels whose blocks are
/// too many for the simulator a sample of them runs. sizes: those to be large, each by itself or
/// with others that cannot be smaller than it is. The first is that of the rows, of which a block
/// may have several.
using CheckCall = std::function<void(const Case& call)>;
void sweep_large_sizes(const Function& function, const std::vector<std::vector<std::string>>& sizes,
                       const CheckCall& check);

/// Runs the function with so many rows (tokens, channels) that there are more than 2^32 elements.
/// sizes: all others.
void check_far_rows(const Function& function, const std::string& size,
                    const verdict::contract::Sizes& sizes, const verdict::Outputs& outputs);
/// The same with the numbers of this call, which has a few of them.
void check_far_rows(const Case& few, const std::string& size, const verdict::Outputs& outputs);

/// A small call in every type whose inputs are filled from the seed, each by itself: numbers that
/// belong together elsewhere, such as a sine and a cosine, do not here.
void check_any_numbers(const Function& function, const CheckCall& check);

/// Makes an element in the middle and the last one of each input of the call NaN, and infinite, one
/// at a time; infinite in the middle also with each other input 0 throughout, and the rest as it is
/// or 1. What the formula makes infinite or NaN of it must be one of them. What else depends on it
/// is left open, as are statistics: the ways to compute them differ. All other numbers are what
/// they were. Where a call of fp16 has inputs of fp32, the same in bf16. And in fp16 inputs so
/// large that finite results are beyond it: rounded they are infinite.
using CheckOutputs = std::function<void(const Case& call, const verdict::Outputs& outputs)>;
void check_not_finite(const Case& call, const verdict::Outputs& outputs, const CheckOutputs& check);
/// NaN in the middle and infinity at the end alone, with all other inputs as they are; and results
/// beyond fp16.
void check_one_not_finite(const Case& call, const verdict::Outputs& outputs,
                          const CheckOutputs& check);

/// The numbers on both sides of each place where the launcher turns to another kernel, or gives it
/// other threads, from size.least to size.most: of a call in fp32 and of one type of 16 bits.
/// others: how much that call has of all other sizes, such as rows. Nothing on a GPU, which does
/// not tell its kernels.
using LookAtEnd = std::function<void(Dtype dtype, std::int64_t others, std::int64_t number)>;
void for_ends_of_kernels(const Function& function, const verdict::contract::Size& size,
                         const LookAtEnd& look);
/// The same of calls whose rows fill vectors of 16 bytes only.
void for_ends_of_vectors(const Function& function, const verdict::contract::Size& size,
                         const LookAtEnd& look);
/// Calls on both sides of each such place, which may be elsewhere than the launcher thinks: of all
/// sizes that the function is told, those that threads share up to `most`.
constexpr std::int64_t kMostAsked = 16'384;
void check_ends_of_kernels(const Function& function, const CheckCall& check,
                           std::int64_t most = kMostAsked);

/// Calls of a few elements: with numbers from 2 to 130 of each size that is none of rows, drawn
/// from the seed; and of one to some elements, with each two tensors as much off a boundary of 16
/// bytes.
void check_small(const Function& function, const CheckCall& check);
/// Asks the launcher for many rows, or whatever else of, of many widths, none of which runs: a
/// launch may be refused there. Whole vectors come first, in a process that no call has touched.
void ask_for_many_rows(const Function& function);
/// All of these.
void check_small_and_ends(const Function& function, const CheckCall& check,
                          std::int64_t most = kMostAsked);

/// From which number of that size on the launcher has other kernels, up to 8192, in calls of two
/// types with so much of all others. Nothing on a GPU, which does not tell its kernels.
void for_kernels_of_many(const Function& function, const std::string& size,
                         const verdict::contract::Sizes& others,
                         const std::function<void(Dtype dtype, std::int64_t number)>& look);

/// check_one_not_finite() with as much of a size as each kernel for narrow calls can have.
void check_each_kernel_not_finite(const Function& function, const std::string& size,
                                  const std::function<Case(std::int64_t number)>& call_of,
                                  const verdict::Outputs& outputs, const CheckOutputs& check);

/// Tensors of numbers at the ends of what a type holds, for which fp32 is enough: tiny with eps 0,
/// of 16 bits subnormal ones; large; rows that are all equal; a mean a thousand deviations off.
using CheckValues = std::function<void(const Matrix& x, double eps)>;
void sweep_values(std::int64_t rows, std::int64_t cols, const CheckValues& check);

// ---- Of operators on rows ----

/// Looks at a call on random numbers.
using CheckRows = std::function<void(Dtype dtype, std::int64_t rows, std::int64_t cols,
                                     const Arrangement& arrangement)>;

/// A few rows of some width in each way that the tensors may lie.
void sweep_rows(const Function& function, const CheckRows& check,
                const std::set<std::string>& only = {});

/// The same with rows so far apart, of one tensor after the other, that row * stride is beyond
/// 2^31; and wide ones, of the named tensors if some are named. On the simulator wide rows that
/// fill no vector are so far apart in all tensors at once.
void sweep_far_apart(const Function& function, const CheckRows& check);
void sweep_wide_far_apart(const Function& function, const CheckRows& check,
                          const std::set<std::string>& only = {});
/// Both.
void sweep_arrangements(const Function& function, const CheckRows& check,
                        const std::set<std::string>& only = {});

/// Two rows of each width from `least` to `most` around which vectors, warps and blocks end, in
/// every type; and a square, in which swapped indices stay inside the tensors. No more rows than
/// columns: who takes a row for a column finds a number too.
void sweep_widths(std::int64_t least, std::int64_t most, const CheckRows& check);

/// Rows as wide as the function's header promises.
void check_widest(const Function& function, const CheckRows& check,
                  const std::vector<Dtype>& dtypes = {Dtype::fp16}, std::int64_t rows = 1);

/// A row as wide as one past each end that a kernel may take for granted (widths_past_ends), and as
/// one that takes as much shared memory as there is, or a little more.
void sweep_ends(const Function& function, const CheckRows& check);

/// Wide rows, for which kernels have other code: the few ways to lie of sweep_wide(), at a width
/// that one pack a thread does not hold, one that few registers do not, and one that many do not.
/// Then widths that ask for more and more shared memory, in each type, odd and not.
void sweep_wide_ways(const Function& function, const CheckRows& check);

/// Rows that no block of threads holds at one element a thread, to the widest.
void check_wide_rows(const Function& function, const CheckRows& check);

/// No row, one row, numbers of rows that nothing divides, more than a grid's y and z can have, also
/// at eight rows a block, and more than there are blocks that a device holds at once.
void check_row_counts(const Function& function, const CheckRows& check);

/// The same of operators on rows, with rows that fill no vectors and with rows that do.
void check_far_rows(const Function& function, const verdict::Outputs& outputs);

/// For sums down the columns: rows that no number of groups divides, columns that no number of
/// threads does.
void sweep_column_sums(const CheckRows& check);

/// More rows than there are blocks, or than scratch has room for groups: some have several.
void check_many_rows(const CheckRows& check);
/// So many that a group of them has several steps, of 32 rows, say, and a last one with fewer: of
/// sums over the rows.
void check_many_steps(const CheckRows& check_sums);
/// More rows than multiprocessors, so wide that each may have one block of them: where the blocks
/// are as many as the device holds at once, scratch has room for more. Of that, only what blocks
/// have written is a sum.
void check_fewer_blocks_than_room(const CheckRows& check);
/// More rows than a grid's y can have, or than as many groups as scratch has room for with 128
/// each. of_rows: has each row a result, of which a sample tells? Sums alone are left out where
/// they take the simulator long, with a block for each row.
void check_beyond_groups(const CheckRows& check, bool of_rows = true);

/// More rows of a backward pass than blocks have at a time, if they fill the device and go on to
/// others: until the places of a ring are used again. Of what each block makes by itself, in a
/// sample of them, of which the first has the last row too.
void check_long_walks_in_sample(const CheckRows& check);
/// Of what all blocks have a part in; rows of one warp, of several side by side, and of a block.
/// The rows are many for a device of few multiprocessors. (More than a grid that is always the same
/// has at a time, of 512 groups, say, has check_many_steps().)
void check_long_walks(const CheckRows& check, const CheckRows& check_sums);
/// The same of rows too wide for some kernels, of blocks or of clusters of them.
void check_long_walks_of_wide(const Function& function, const CheckRows& check);

/// The same function on other numbers and on the same, then other shapes: at the same addresses, as
/// far as the device gives them again. And side by side with other calls.
void check_again(const CheckRows& check);

/// Calls of so many rows, tokens or samples that `check` makes, on other numbers each time: each
/// also at the same time as the one before it, on two streams.
void check_side_by_side(const std::function<void(std::int64_t rows)>& check);

/// Calls in which another kernel may have been chosen: with each of the sizes in turn that a launch
/// may look at larger and larger, each two calls at once, on two streams. Then larger ones, in
/// which a few blocks show whether they keep to their memory. And check_without_clusters().
void check_every_size(const Function& function, const CheckCall& check);

/// Wide calls in which eps counts, one of each kernel. And a launcher that launches clusters may
/// ask whether the GPU has them, and launch something else where it has none: the calls for which
/// it launches clusters, on a GPU without. The simulator plays one.
void check_without_clusters(const Function& function, const CheckCall& check);

/// Shapes drawn from the seed, so that no list of shapes can be learned by heart.
void draw_rows(const Function& function, int count, const CheckRows& check);

/// Rows of so many columns, each to have one number that must not be lost, row r in columns[r].
using CheckSpikes =
    std::function<void(Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns)>;
void sweep_spikes(const CheckSpikes& check);

}  // namespace onepass::common
