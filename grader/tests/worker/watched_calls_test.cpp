// What a GPU's worker tells of a launcher's calls, without a GPU: CUDA's answers are made up here.
#include "worker/watched_calls_gpu.h"

#include <doctest/doctest.h>

using onepass::worker::watched_calls;

namespace {

cudaError_t answer = cudaSuccess;

}  // namespace

extern "C" {
cudaError_t __real_cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind) {
  return answer;
}
cudaError_t __wrap_cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t __real_cudaMemsetAsync(void*, int, size_t, cudaStream_t) {
  return answer;
}
cudaError_t __wrap_cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t __real_cudaFree(void*) {
  return answer;
}
cudaError_t __wrap_cudaFree(void*);
cudaError_t __real_cudaMallocAsync(void** pointer, size_t, cudaStream_t) {
  static float memory[4];
  *pointer = memory;
  return answer;
}
cudaError_t __wrap_cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t __real_cudaFreeAsync(void*, cudaStream_t) {
  return answer;
}
cudaError_t __wrap_cudaFreeAsync(void*, cudaStream_t);
}

namespace {

const cudaStream_t kStream = reinterpret_cast<cudaStream_t>(8);

/// What is said of a call that CUDA answers so; "" if nothing is.
template <typename Call>
std::string refusal(cudaError_t of_cuda, Call call) {
  answer = of_cuda;
  watched_calls().watch(kStream, [] {});
  CHECK(call() == of_cuda);
  watched_calls().unwatch();
  for (const simulator::Finding& finding : watched_calls().take()) {
    if (finding.kind == simulator::Kind::refused_copy) {
      CHECK(finding.warning);
      return finding.message;
    }
  }
  return "";
}

cudaError_t copy() {
  float here = 0;
  return __wrap_cudaMemcpy(&here, &here, sizeof here, cudaMemcpyDeviceToDevice);
}
cudaError_t fill() {
  return __wrap_cudaMemsetAsync(nullptr, 0, 4, kStream);
}

}  // namespace

TEST_SUITE("watched calls") {
  TEST_CASE("a copy that CUDA refuses is told as one") {
    CHECK(refusal(cudaErrorInvalidValue, copy) ==
          "cudaMemcpy() returns cudaErrorInvalidValue: invalid argument");
    CHECK(refusal(cudaErrorInvalidMemcpyDirection, copy).find("cudaMemcpy() returns") == 0);
    CHECK(refusal(cudaErrorInvalidValue, fill).find("cudaMemsetAsync() returns") == 0);
  }

  TEST_CASE("what a copy hands on from a kernel, and what others refuse, is none") {
    CHECK(refusal(cudaSuccess, copy) == "");
    CHECK(refusal(cudaErrorIllegalAddress, copy) == "");
    CHECK(refusal(cudaErrorInvalidConfiguration, copy) == "");
    CHECK(refusal(cudaErrorInvalidValue, [] { return __wrap_cudaFree(nullptr); }) == "");
  }

  TEST_CASE("outside of a call nobody watches") {
    answer = cudaErrorInvalidValue;
    CHECK(copy() == cudaErrorInvalidValue);
    CHECK(watched_calls().take().empty());
  }

  TEST_CASE("memory that is taken and not given back is told") {
    for (const bool gives_back : {false, true}) {
      answer = cudaSuccess;
      void* memory = nullptr;
      watched_calls().watch(kStream, [] {});
      __wrap_cudaMallocAsync(&memory, 16, kStream);
      if (gives_back) {
        __wrap_cudaFreeAsync(memory, kStream);
      }
      watched_calls().unwatch();
      const std::vector<simulator::Finding> findings = watched_calls().take();
      REQUIRE(findings.size() == (gives_back ? 0 : 1));
      if (!gives_back) {
        CHECK(findings[0].kind == simulator::Kind::memory_kept);
        CHECK(findings[0].message.find("cudaMallocAsync() has taken 16 bytes") == 0);
      }
    }
  }
}
