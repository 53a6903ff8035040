// Framing of messages over pipes. Whatever the other side sends or stops sending, the caller gets
// an answer: no exception, no signal, no memory beyond the limits.
#include "worker/protocol.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <span>

namespace onepass::worker {
namespace {

constexpr size_t kSizeBytes = 8;
constexpr int kPipeBytes = 1 << 20;
// Memory for a blob is taken as its bytes arrive: a size is only a claim.
constexpr size_t kBlobStep = size_t{64} << 20;

/// Fills `bytes`. Transfer::closed only if the pipe ended before the first byte.
Transfer read_bytes(int fd, std::span<std::byte> bytes, const Wait& wait) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(fd, bytes.data() + done, bytes.size() - done);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0) {
      return done == 0 ? Transfer::closed : Transfer::truncated;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait(fd, POLLIN)) {
        return Transfer::gave_up;
      }
    } else if (errno != EINTR) {
      return Transfer::failed;
    }
  }
  return Transfer::done;
}

Transfer write_bytes(int fd, std::span<const std::byte> bytes, const Wait& wait) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count >= 0) {
      done += static_cast<size_t>(count);
    } else if (errno == EPIPE) {
      return Transfer::closed;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait(fd, POLLOUT)) {
        return Transfer::gave_up;
      }
    } else if (errno != EINTR) {
      return Transfer::failed;
    }
  }
  return Transfer::done;
}

/// Inside a message the end of the pipe is never a clean one.
Transfer read_more(int fd, std::span<std::byte> bytes, const Wait& wait) {
  const Transfer result = read_bytes(fd, bytes, wait);
  return result == Transfer::closed ? Transfer::truncated : result;
}

Transfer read_blob(int fd, Blob& blob, size_t size, const Wait& wait) {
  blob.reserve(std::min(size, kBlobStep));
  while (blob.size() < size) {
    const size_t begin = blob.size();
    blob.resize(std::min(size, begin + kBlobStep));
    const Transfer result = read_more(fd, std::span(blob).subspan(begin), wait);
    if (result != Transfer::done) {
      return result;
    }
  }
  return Transfer::done;
}

/// Takes "blobs" out of `body`: the sizes of the blobs that follow.
Transfer take_blob_sizes(nlohmann::json& body, const Limits& limits, std::vector<size_t>& sizes) {
  const auto listed = body.find("blobs");
  if (listed == body.end()) {
    return Transfer::done;
  }
  if (!listed->is_array()) {
    return Transfer::malformed;
  }
  if (listed->size() > limits.blobs) {
    return Transfer::too_large;
  }
  uint64_t left = limits.blob_bytes;
  for (const nlohmann::json& size : *listed) {
    if (!size.is_number_unsigned()) {
      return Transfer::malformed;
    }
    const uint64_t bytes = size.get<uint64_t>();
    if (bytes > left) {
      return Transfer::too_large;
    }
    left -= bytes;
    sizes.push_back(bytes);
  }
  body.erase(listed);
  return Transfer::done;
}

/// While it lives, writing to a pipe without a reader raises no SIGPIPE in this thread. The
/// signal's disposition, which belongs to the whole process and its children, stays as it is.
class SigpipeHeldBack {
 public:
  SigpipeHeldBack() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~SigpipeHeldBack() {
    if (!was_pending_) {
      const timespec at_once{};
      while (sigtimedwait(&sigpipe_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeHeldBack(const SigpipeHeldBack&) = delete;
  SigpipeHeldBack& operator=(const SigpipeHeldBack&) = delete;

 private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_;
};

}  // namespace

Message message_of(const char* operation, nlohmann::json content) {
  return {{{"op", operation}, {"content", std::move(content)}}, {}};
}

std::string describe(Transfer transfer) {
  switch (transfer) {
    case Transfer::done:
      return "the message is complete";
    case Transfer::closed:
      return "the other side closed the pipe";
    case Transfer::truncated:
      return "the other side closed the pipe in the middle of a message";
    case Transfer::malformed:
      return "the message is not of the worker's protocol";
    case Transfer::too_large:
      return "the message is larger than allowed";
    case Transfer::gave_up:
      return "the message did not come in time";
    case Transfer::failed:
      return "the system refused to read from or write to the pipe";
  }
  return "unknown";
}

bool wait_forever(int fd, short events) {
  pollfd ready{fd, events, 0};
  return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

void prepare_descriptor(int fd) {
  fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) | FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
#ifdef F_SETPIPE_SZ
  fcntl(fd, F_SETPIPE_SZ, kPipeBytes);  // fewer turns for large blobs; fails harmlessly
#endif
}

Transfer read_message(int fd, Message& message, const Limits& limits, const Wait& wait) {
  std::array<std::byte, kSizeBytes> prefix;
  if (const Transfer result = read_bytes(fd, prefix, wait); result != Transfer::done) {
    return result;
  }
  uint64_t size = 0;
  for (size_t i = 0; i < kSizeBytes; ++i) {
    size |= std::to_integer<uint64_t>(prefix[i]) << (8 * i);
  }
  if (size > limits.json_bytes) {
    return Transfer::too_large;
  }
  std::string text(size, '\0');
  if (const Transfer result = read_more(fd, std::as_writable_bytes(std::span(text)), wait);
      result != Transfer::done) {
    return result;
  }
  message.body = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!message.body.is_object()) {
    return Transfer::malformed;
  }
  std::vector<size_t> sizes;
  if (const Transfer result = take_blob_sizes(message.body, limits, sizes);
      result != Transfer::done) {
    return result;
  }
  message.blobs.clear();
  for (const size_t blob_size : sizes) {
    const Transfer result = read_blob(fd, message.blobs.emplace_back(), blob_size, wait);
    if (result != Transfer::done) {
      return result;
    }
  }
  return Transfer::done;
}

Transfer write_message(int fd, const Message& message, const Wait& wait) {
  nlohmann::json body = message.body;
  body["blobs"] = nlohmann::json::array();
  for (const Blob& blob : message.blobs) {
    body["blobs"].push_back(blob.size());
  }
  // Text that is no UTF-8 (a device's name, say) must not stop a message.
  const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::array<std::byte, kSizeBytes> prefix;
  for (size_t i = 0; i < kSizeBytes; ++i) {
    prefix[i] = static_cast<std::byte>(uint64_t{text.size()} >> (8 * i));
  }
  const SigpipeHeldBack held_back;
  Transfer result = write_bytes(fd, prefix, wait);
  if (result == Transfer::done) {
    result = write_bytes(fd, std::as_bytes(std::span(text)), wait);
  }
  for (size_t i = 0; i < message.blobs.size() && result == Transfer::done; ++i) {
    result = write_bytes(fd, message.blobs[i], wait);
  }
  return result;
}

}  // namespace onepass::worker
