#include "tests/fuzz/message.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "tests/fuzz/target.h"

namespace onepass::fuzz {
namespace {

std::string framed(std::string_view input) {
  if (!input.empty() && input[0] == '\0') {
    return std::string(input.substr(1));
  }
  const std::string_view text = take_until('\0', input);
  const std::uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  bytes += input;
  return bytes;
}

}  // namespace

worker::Transfer receive(std::string_view input, worker::Message& message,
                         const worker::Limits& limits) {
  const std::string bytes = framed(input);
  const int file = memfd_create("message", MFD_CLOEXEC);
  require(file >= 0 && write(file, bytes.data(), bytes.size()) == std::ssize(bytes));
  lseek(file, 0, SEEK_SET);
  const worker::Transfer transfer = worker::read_message(file, message, limits);
  close(file);
  return transfer;
}

}  // namespace onepass::fuzz
