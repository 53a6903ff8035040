#include "verdict/map/record_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

#include "verdict/worker/messages.h"

namespace onepass::verdict {
namespace {

constexpr double kTimeLimit =
    600.0;  // a profiler is slow, and so is the simulator with large calls

}  // namespace

void record_request(const Exercise& exercise, const Shape& shape, std::uint64_t seed, bool lines,
                    const std::string& file) {
  Request request = request_of(exercise.measurement.make_case(shape, seed), Poison::nan);
  request.call.time_limit_s = kTimeLimit;
  request.call.lines = lines;
  for (wire::BufferSpec& buffer : request.call.buffers) {
    buffer.send_back = false;
  }
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor == -1) {
    throw std::runtime_error(file + " cannot be written.");
  }
  const worker::Transfer transfer =
      worker::write_message(descriptor, message_of("run", std::move(request)));
  if (close(descriptor) != 0 || transfer != worker::Transfer::done) {
    throw std::runtime_error(file + " could not be written to its end.");
  }
}

}  // namespace onepass::verdict
