// Work that is held on its stream until host code waits for the device: in which order it is done,
// and what two streams do to each other.
#include <cassert>
#include <vector>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

/// Work is held while this lives; two streams to put it on.
struct Held {
  cudaStream_t a, b;
  explicit Held(bool wanted = true) {
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    simulator::hold_work(wanted);
  }
  ~Held() {
    cudaDeviceSynchronize();
    simulator::hold_work(false);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
};

__global__ void note_turn(unsigned* count, unsigned* turns) {
  turns[blockIdx.x] = 1 + atomicAdd(count, 1u);
}

/// The turns of the blocks of two launches, `first` and `second` of them.
using Turns = std::vector<unsigned>;
Turns turns_of(int first, int second, bool wanted, bool one_stream) {
  unsigned* const count = zeros<unsigned>();
  unsigned* const turns = zeros<unsigned>(1);
  const Held held(wanted);
  note_turn<<<first, 1, 0, held.a>>>(count, turns);
  note_turn<<<second, 1, 0, one_stream ? held.a : held.b>>>(count, turns + first);
  Turns noted(first + second);
  cudaMemcpy(noted.data(), turns, noted.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
  return noted;
}

CASE(streams_take_turns, "") {
  assert(turns_of(4, 4, true, false) == (Turns{1, 2, 5, 6, 3, 4, 7, 8}));
}
CASE(streams_take_turns_with_few_blocks, "") {
  const Turns turns = turns_of(1, 3, true, false);
  assert((Turns{turns[1], turns[2], turns[3]}) != (Turns{1, 2, 3}));  // not before the first
  assert(turns[1] < turns[2] && turns[2] < turns[3]);
}
CASE(one_stream_keeps_its_order, "") {
  assert(turns_of(4, 4, true, true) == (Turns{1, 2, 3, 4, 5, 6, 7, 8}));
}
CASE(what_is_not_held_is_done_at_once, "") {
  assert(turns_of(4, 4, false, false) == (Turns{1, 2, 3, 4, 5, 6, 7, 8}));
}
CASE(held_until_the_host_waits, "") {
  unsigned* const count = zeros<unsigned>();
  unsigned* const turns = zeros<unsigned>(1);
  simulator::take_traffic();
  const Held held;
  note_turn<<<4, 1, 0, held.a>>>(count, turns);
  assert(simulator::take_traffic().empty());
  cudaStreamSynchronize(held.a);
  assert(simulator::take_traffic().size() == 2);  // half of the blocks, and the other half
}

__global__ void put(float* y, float value) {
  y[blockIdx.x] = value;  // here
}
__global__ void add(float* y, const float* x) {
  y[blockIdx.x] += x[blockIdx.x];
}
float first_of(const float* y) {
  float value = 0;
  cudaMemcpy(&value, y, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}

CASE(arguments_are_those_of_the_launch, "") {
  float* const y = zeros<float>();
  const Held held;
  float value = 3;
  put<<<2, 1, 0, held.a>>>(y, value);
  value = 4;
  assert(first_of(y) == 3);
}
CASE(copies_to_and_from_the_host_are_done_at_once, "") {
  float* const y = zeros<float>();
  const Held held;
  put<<<2, 1, 0, held.a>>>(y, 3.0f);
  {
    float numbers[2] = {5, 5};
    cudaMemcpyAsync(y + 1, numbers, sizeof(float), cudaMemcpyHostToDevice, held.a);
    numbers[0] = 6;
    cudaMemcpyAsync(numbers, y, sizeof numbers, cudaMemcpyDeviceToHost, held.a);
    assert(numbers[0] == 3 && numbers[1] == 5);
  }
}
CASE(copies_fills_and_frees_wait_for_their_turn, "") {
  float* const x = zeros<float>();
  float* const y = zeros<float>(1);
  const Held held;
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, 128, held.a);
  put<<<2, 1, 0, held.a>>>(scratch, 3.0f);
  cudaMemcpyAsync(x, scratch, 8, cudaMemcpyDeviceToDevice, held.a);
  cudaMemsetAsync(scratch, 0, 8, held.a);
  add<<<2, 1, 0, held.a>>>(scratch, x);
  cudaMemcpyAsync(y, scratch, 8, cudaMemcpyDeviceToDevice, held.a);
  cudaFreeAsync(scratch, held.a);
  assert(first_of(x) == 3);
  assert(first_of(y) == 3);
}

/// Two calls, each on a stream of its own: with memory of their own, and with memory that they
/// share without knowing.
float sum_of_two_calls(bool wanted, bool shared) {
  float* const x = zeros<float>();
  float* const y = zeros<float>(1);
  const Held held(wanted);
  float* const of_b = shared ? x : x + 64;
  put<<<2, 1, 0, held.a>>>(x, 1.0f);
  put<<<2, 1, 0, held.b>>>(of_b, 10.0f);
  add<<<2, 1, 0, held.a>>>(y, x);
  add<<<2, 1, 0, held.b>>>(y + 64, of_b);
  return first_of(y) + first_of(y + 64);
}
CASE(calls_with_memory_of_their_own, "") {
  assert(sum_of_two_calls(true, false) == 11);
  assert(sum_of_two_calls(false, false) == 11);
}
CASE(calls_that_share_memory, "") {
  assert(sum_of_two_calls(true, true) == 20);
}

CASE(a_held_launch_is_checked_at_once, "invalid-launch", {"65535"}) {
  float* const y = zeros<float>();
  const Held held;
  put<<<dim3(1, 65536), 1, 0, held.a>>>(y, 1.0f);  // here
}
CASE(a_held_launch_goes_wrong, "out-of-bounds-global", {"1 element past the end"}) {
  float* const y = zeros<float>();
  const Held held;
  put<<<2, 1, 0, held.a>>>(y + kZeroBytes / 4 - 1, 1.0f);
}

}  // namespace
