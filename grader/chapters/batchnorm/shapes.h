// The inputs that chapter 4's checks share: which shapes and why, and tensors made for a purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "chapters/batchnorm/calls.h"
#include "chapters/common/sweeps.h"

namespace onepass::batchnorm {

struct Shape {
  std::int64_t batch, channels, space;
};

inline const std::vector<Shape> kTwoDimensional = {
    {2, 3, 1},     // the fewest elements that have a variance
    {7, 5, 1},     // primes
    {33, 40, 1},   // more channels than a warp has lanes, and no multiple of it
    {3, 33, 1},    // one channel more than a warp has lanes
    {300, 2, 1}};  // more samples than a block has warps
constexpr Shape kManyChannels = {2, 600, 1};  // more than a block has threads
inline const std::vector<Shape> kThreeDimensional = {
    {1, 2, 2},   // a single sample, two positions
    {2, 3, 4},   // space shorter than 16 bytes of 16-bit elements
    {5, 2, 33},  // odd, so that hardly a stretch starts at a 16-byte boundary
    {3, 7, 31},
    {6, 1, 20}};  // one channel
inline const std::vector<Shape> kFourDimensional = {
    {2, 3, 8 * 8},    // a multiple of 16 bytes
    {4, 2, 7 * 7},    // the last feature maps of many networks: odd
    {3, 5, 6 * 6},    // a multiple of 4, not of 8
    {1, 2, 41 * 25},  // one sample, more positions than a block has threads
    {9, 2, 16 * 16}};

/// The running check's random numbers for the tensor of that name and shape.
verdict::Random numbers(const char* tensor, Dtype dtype, const Shape& shape);

/// Every channel has a mean and a spread of its own, about `mean` and `spread`; weights from 0.5 to
/// 1.5, biases from -1 to 1, running means from -2 to 2 and variances from 0.5 to 2: all different,
/// so that none can stand in for another.
Arguments random_arguments(Dtype dtype, const Shape& shape, double mean = 0.0, double spread = 1.0);

/// Calls check(arguments) in every way that the tensors may lie, of every type; only: the tensors
/// that matter to the check, if not all of them do.
using CheckArguments = std::function<void(Arguments)>;
void sweep_tensors(const Function& function, const CheckArguments& check,
                   const std::set<std::string>& only = {});

/// The same of each of the tensors that have one number a channel, for several channels.
void sweep_vectors(const Function& function, const CheckArguments& check);

/// Random arguments with this x, of 2 channels, and running statistics as large as it is.
Arguments arguments_of(const Matrix& x, double eps);

/// The same of shapes drawn from the seed, so that no list of shapes can be learned by heart.
void draw_tensors(const Function& function, int count, const CheckArguments& check);

/// So many channels that the elements are beyond 2^31, and 2^32; and that those of one sample of
/// two are.
void check_far_channels(const Function& function, const verdict::Outputs& outputs);

}  // namespace onepass::batchnorm
