// The deciding process is trusted, but not to be free of mistakes.
#include "worker/request.h"

namespace onepass::worker {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;
constexpr int64_t kMostTraced = 100'000;
constexpr int kMostSets = 64;

void check_buffer(const wire::BufferSpec& spec, const std::vector<Blob>& blobs) {
  if (spec.is_null) {
    return;
  }
  check_range("rows", spec.rows, 0, kMostElements);
  check_range("cols", spec.cols, 0, kMostElements);
  check_range("stride", spec.stride, 0, kMostElements);
  check_range("offset", spec.offset, 0, kMostElements);
  if (spec.stride < spec.cols) {
    throw BadRequest("the rows of " + spec.name + " overlap: its stride is less than its cols");
  }
  if (spec.rows > 0 && spec.stride > kMostElements / spec.rows) {
    throw BadRequest("the buffer " + spec.name + " is too large");
  }
  if (spec.fill != wire::Fill::blob) {
    return;
  }
  if (spec.blob >= blobs.size()) {
    throw BadRequest("there is no blob for " + spec.name);
  }
  if (blobs[spec.blob].size() != static_cast<size_t>(spec.rows) * spec.row_bytes()) {
    throw BadRequest("the blob for " + spec.name + " is not of rows * cols elements");
  }
}

}  // namespace

void check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most) {
    throw BadRequest(std::string(name) + " is out of range");
  }
}

void check_call(const wire::Call& call, const std::vector<Blob>& blobs) {
  for (const wire::BufferSpec& buffer : call.buffers) {
    check_buffer(buffer, blobs);
  }
  if (!(call.time_limit_s > 0)) {
    throw BadRequest("the time limit is no positive number");
  }
  check_range("trace", call.trace, 0, kMostTraced);
  check_range("sets", call.sets, 1, kMostSets);
}

}  // namespace onepass::worker
