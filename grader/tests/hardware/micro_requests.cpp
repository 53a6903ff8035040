// Writes a request for each micro-kernel to a file, for a worker's descriptor 3, and prints their
// names.
//
//   micro_requests cpu|gpu FILE [GROUP]
//
// GROUP: small, those of micro.cu without the ones that take the simulator long; fast, those of
// micro_fast.cu.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/hardware/micro_kernels.h"
#include "wire/json.h"
#include "worker/protocol.h"

namespace {

namespace wire = onepass::wire;

wire::BufferSpec buffer(const char* name, int elements, std::uint64_t seed) {
  wire::BufferSpec spec;
  spec.name = name;
  spec.rows = 1;
  spec.cols = spec.stride = elements;
  spec.fill = wire::Fill::hash;
  spec.hash = {seed, 1.0, 1.0};
  spec.send_back = false;
  return spec;
}

bool is_big(const std::string& kernel) {
  return kernel.rfind("big_", 0) == 0;
}

onepass::worker::Message request_for(const std::string& kernel, bool lines) {
  constexpr int kThreads = 256;
  const int blocks = is_big(kernel) ? 1 << 17 : 8;  // 128 MiB: more than an L2 holds
  const int elements = is_big(kernel) ? blocks * kThreads : 1 << 17;
  wire::Call call;
  call.function = kernel;
  call.dtype = "fp32";
  call.scalars = {{"blocks", blocks}};
  call.buffers = {buffer("x", elements, 1), buffer("y", elements, 2)};
  call.time_limit_s = 600.0;
  call.lines = lines;
  call.profiled = true;
  return onepass::worker::message_of("run", call);
}

#define ONEPASS_MICRO_NAME(name) #name,
std::vector<std::string> kernels(const std::string& group) {
  if (group == "fast") return {ONEPASS_MICRO_FAST_KERNELS(ONEPASS_MICRO_NAME)};
  std::vector<std::string> all = {ONEPASS_MICRO_KERNELS(ONEPASS_MICRO_NAME)};
  if (group == "small") all.erase(std::remove_if(all.begin(), all.end(), is_big), all.end());
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string group = count == 4 ? arguments[3] : "";
  if (count < 3 || count > 4 || (count == 4 && group != "small" && group != "fast")) {
    std::fprintf(stderr, "Usage: micro_requests cpu|gpu FILE [small|fast]\n");
    return 2;
  }
  const int file = open(arguments[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file == -1) {
    std::fprintf(stderr, "%s cannot be written.\n", arguments[2]);
    return 2;
  }
  for (const std::string& kernel : kernels(group)) {
    const auto request = request_for(kernel, arguments[1] == std::string("cpu"));
    if (onepass::worker::write_message(file, request) != onepass::worker::Transfer::done) {
      std::fprintf(stderr, "%s could not be written to its end.\n", arguments[2]);
      return 2;
    }
    std::printf("%s\n", kernel.c_str());
  }
  return close(file);
}
