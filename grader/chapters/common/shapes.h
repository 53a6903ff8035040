// The inputs that the checks of all chapters share.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "verdict/contract/sweep.h"
#include "verdict/session/session.h"

namespace onepass::common {

using verdict::Dtype;
using verdict::contract::Arrangement;
using verdict::contract::Function;

inline const std::vector<Dtype> kEveryDtype = {Dtype::fp32, Dtype::fp16, Dtype::bf16};
inline const std::vector<Dtype> kSixteenBit = {Dtype::fp16, Dtype::bf16};

/// The running check's random numbers for the tensor of that name and shape.
verdict::Random numbers(const std::string& tensor, Dtype dtype, std::int64_t rows,
                        std::int64_t cols);

/// The first and the last column, and those on both sides of where warps, blocks and vectors end.
std::vector<std::int64_t> boundary_columns(std::int64_t cols);

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

/// Shapes drawn from the seed, so that no list of shapes can be learned by heart.
void draw_rows(const Function& function, int count, const CheckRows& check);

}  // namespace onepass::common
