// The worker's side: requests, as the deciding process may send them.
#include "tests/fuzz/message.h"
#include "tests/fuzz/target.h"
#include "tests/worker/plain_device.h"
#include "worker/session.h"

namespace onepass::worker {
namespace {

void touch(const Arguments& arguments) {
  arguments.buffer<float>("y");
  arguments.integer("rows");
  arguments.real("eps");
  arguments.stream();
}

}  // namespace

FunctionTable bound_functions() {
  static constexpr Function table[] = {{"touch", "fp32", touch}};
  return {table, 1};
}

}  // namespace onepass::worker

namespace onepass::fuzz {

/// Requests to one worker, with two zeros between them.
void try_input(std::string_view input) {
  worker::PlainDevice device;
  device.room = std::size_t{1} << 16;
  worker::Session session(device);
  const std::string_view end("\0\0", 2);
  while (!input.empty()) {
    const std::string_view one = input.substr(0, input.find(end));
    input.remove_prefix(std::min(one.size() + end.size(), input.size()));
    worker::Message request;
    if (receive(one, request, {.blob_bytes = 1 << 20}) == worker::Transfer::done) {
      const worker::Message reply = session.answer(request);
      require(reply.body.at("op").is_string() && reply.body.contains("content"));
    }
  }
}

}  // namespace onepass::fuzz
