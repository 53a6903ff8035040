// Tensors as a kernel sees them that reads or sums them wrongly.
#pragma once

#include <fmt/format.h>

#include <optional>

#include "chapters/common/mistakes.h"
#include "verdict/case.h"
#include "verdict/values/field.h"

namespace onepass::common {

/// The buffer with row r taken from `stride` * r on; nothing where that makes no difference or
/// leaves the buffer.
std::optional<verdict::Field> with_stride(const verdict::Case& call, const char* buffer,
                                          std::int64_t stride);

/// field[c][r] for field[r][c]; for square ones only, others leave the buffer.
std::optional<verdict::Field> transposed(const verdict::Field& field);

/// A row of parameters as a kernel reads it that begins anew, at column 0, with what fills no
/// vector of so many columns; nothing where vectors fill the row.
std::optional<verdict::Field> tail_from_front(const verdict::Field& parameter, std::int64_t vector);

/// As one reads it that knows the first `threads` columns only, and takes them again and again;
/// nothing where there are no more.
std::optional<verdict::Field> again_from_front(const verdict::Field& parameter,
                                               std::int64_t threads);

/// That mistake, with each vector that a kernel may take. read_with(vector): what Hooks::read is
/// then.
template <typename Hooks, typename ReadWith>
Mistake<Hooks> tails_from_front(const ReadWith& read_with) {
  Mistake<Hooks> mistake{"tail-from-front", {}};
  for (const std::int64_t vector : {8, 4, 2}) {
    Hooks hooks;
    hooks.read = read_with(vector);
    mistake.ways.push_back(
        {fmt::format("The last columns, which fill no vector of {}, took the weights of the row's "
                     "first ones: they too are looked up by their column, counted from the row's "
                     "start.",
                     vector),
         hooks});
  }
  return mistake;
}

/// Weights of a thread's first column for all that it comes to, with each number of threads.
/// read_with(threads): what Hooks::read is then.
template <typename Hooks, typename ReadWith>
Mistake<Hooks> weights_of_first_turn(const ReadWith& read_with) {
  Mistake<Hooks> mistake{"weight-of-first-turn", {}};
  for (const std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    Hooks hooks;
    hooks.read = read_with(threads);
    mistake.ways.push_back({fmt::format("From column {0} on the weights are those of the row's "
                                        "first {0} columns again: load the weight of each column "
                                        "that a thread comes to.",
                                        threads),
                            hooks});
  }
  return mistake;
}

/// What memory of that type holds before some of the calls: what is added to it is off by that.
double poison(verdict::Dtype dtype);

}  // namespace onepass::common
