// The inputs that the checks of all chapters share.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "verdict/contract/measured.h"
#include "verdict/contract/sweep.h"
#include "verdict/session/session.h"

namespace onepass::common {

using verdict::Dtype;
using verdict::contract::Arrangement;
using verdict::contract::Function;
using verdict::contract::Outputs;

inline const std::vector<Dtype> kEveryDtype = {Dtype::fp32, Dtype::fp16, Dtype::bf16};
inline const std::vector<Dtype> kSixteenBit = {Dtype::fp16, Dtype::bf16};

/// The running check's random numbers for the tensor of that name and shape.
verdict::Random numbers(const std::string& tensor, Dtype dtype, std::int64_t rows,
                        std::int64_t cols);

/// The first and the last column, and those on both sides of where warps, blocks and vectors end.
std::vector<std::int64_t> boundary_columns(std::int64_t cols);

/// One number in each row that is larger than all others, in row r at column columns[r]: 8 among
/// small ones, or 4 among zeros. It must not be lost.
verdict::Matrix small_but_for(Dtype dtype, std::int64_t cols,
                              const std::vector<std::int64_t>& columns);
verdict::Matrix zero_but_for(Dtype dtype, std::int64_t cols,
                             const std::vector<std::int64_t>& columns);

/// Every way that a function's tensors may lie (the sweep), in every type. `number` counts those of
/// a type, to take other sizes for each. only: the tensors that matter to the check, if not all do.
using CheckWay =
    std::function<void(Dtype dtype, std::size_t number, const verdict::contract::Way& way)>;
void sweep(const Function& function, const CheckWay& check, const std::set<std::string>& only = {});

/// For an operator on rows: a few rows of some width in each of these ways.
using CheckRows = std::function<void(Dtype dtype, std::int64_t rows, std::int64_t cols,
                                     const Arrangement& arrangement)>;
void sweep_rows(const Function& function, const CheckRows& check,
                const std::set<std::string>& only = {});

/// The same with rows so far apart, of one tensor after the other, that row * stride is beyond
/// 2^31.
void sweep_far_apart(const Function& function, const CheckRows& check);

/// Two rows of each width from `least` to `most` around which vectors, warps and blocks end, in
/// every type; and a square, in which swapped indices stay inside the tensors. No more rows than
/// columns: who takes a row for a column finds a number too.
void sweep_widths(std::int64_t least, std::int64_t most, const CheckRows& check);

/// Runs the function once for each of its sizes that may be 0, with that one at 0 and all others as
/// small as they get. Nothing may be written; else the check ends with the sentence, which has {}
/// where the element is named.
void expect_nothing_done(const Function& function, const std::string& sentence);

/// Shapes drawn from the seed, so that no list of shapes can be learned by heart.
void draw_rows(const Function& function, int count, const CheckRows& check);

}  // namespace onepass::common
