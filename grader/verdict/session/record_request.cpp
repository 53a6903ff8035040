#include "verdict/session/record_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "verdict/worker/messages.h"

namespace onepass::verdict {
namespace {

constexpr double kTimeLimit =
    600.0;  // a profiler is slow, and so is the simulator with large calls

}  // namespace

void record_request(const Exercise& exercise, const Shape& shape, std::uint64_t seed, bool lines,
                    const std::string& file) {
  worker::Message request =
      run_request(exercise.measurement.make_case(shape, seed), Poison::nan, kTimeLimit);
  request.body["lines"] = lines;
  for (nlohmann::json& buffer : request.body["buffers"]) {
    buffer["return"] = false;
  }
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor == -1) {
    throw std::runtime_error(file + " cannot be written.");
  }
  const worker::Transfer transfer = worker::write_message(descriptor, request);
  if (close(descriptor) != 0 || transfer != worker::Transfer::done) {
    throw std::runtime_error(file + " could not be written to its end.");
  }
}

}  // namespace onepass::verdict
