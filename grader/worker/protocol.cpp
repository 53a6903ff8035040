// Framing of messages over pipes. Whatever the other side sends or stops sending, the caller gets
// an answer: no exception, no signal, no memory beyond the limits.
#include "worker/protocol.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <span>

namespace onepass::worker {
namespace {

constexpr int kPipeBytes = 1 << 20;
// Memory for a blob is taken as its bytes arrive: a size is only a claim.
constexpr size_t kBlobStep = size_t{64} << 20;
constexpr size_t kTogether = size_t{256} << 10;

/// Why a message did not get through. Thrown and caught in this file.
struct Stopped {
  Transfer why;
};

/// Moves all of `bytes` by `move`, which is read() or write(); waits where the pipe is not `ready`.
template <typename Byte, typename Move>
void move_all(int fd, std::span<Byte> bytes, Move move, short ready, const Wait& wait) {
  while (!bytes.empty()) {
    const ssize_t count = move(fd, bytes.data(), bytes.size());
    if (count > 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
    } else if (count == 0 || errno == EPIPE) {
      throw Stopped{Transfer::closed};
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait(fd, ready)) {
        throw Stopped{Transfer::gave_up};
      }
    } else if (errno != EINTR) {
      throw Stopped{Transfer::failed};
    }
  }
}

void read_bytes(int fd, std::span<std::byte> bytes, const Wait& wait) {
  move_all(fd, bytes, read, POLLIN, wait);
}

void write_bytes(int fd, std::span<const std::byte> bytes, const Wait& wait) {
  move_all(fd, bytes, write, POLLOUT, wait);
}

/// Small pieces go together: each write() may wake who reads, and make it wait for the next piece.
void write_pieces(int fd, const std::vector<std::span<const std::byte>>& pieces, const Wait& wait) {
  Blob gathered;
  for (const auto& piece : pieces) {
    if (gathered.size() + piece.size() > kTogether) {
      write_bytes(fd, gathered, wait);
      gathered.clear();
    }
    if (piece.size() > kTogether) {
      write_bytes(fd, piece, wait);
    } else {
      gathered.insert(gathered.end(), piece.begin(), piece.end());
    }
  }
  write_bytes(fd, gathered, wait);
}

void read_blob(int fd, Blob& blob, size_t size, const Wait& wait) {
  blob.reserve(std::min(size, kBlobStep));
  while (blob.size() < size) {
    const size_t begin = blob.size();
    blob.resize(std::min(size, begin + kBlobStep));
    read_bytes(fd, std::span(blob).subspan(begin), wait);
  }
}

/// Do its brackets nest deeper than those of any message? A parser would take memory for each.
bool nests_too_deep(const std::string& text) {
  constexpr int kMostDepth = 32;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size() && depth <= kMostDepth; ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else {
      in_string = c == '"';
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    }
  }
  return depth > kMostDepth;
}

/// Takes "blobs" out of `body`: the sizes of the blobs that follow.
std::vector<uint64_t> take_blob_sizes(nlohmann::json& body, const Limits& limits) {
  const nlohmann::json listed = body.value("blobs", nlohmann::json::array());
  body.erase("blobs");
  const bool sizes_only = std::all_of(listed.begin(), listed.end(),
                                      [](const auto& size) { return size.is_number_unsigned(); });
  if (!listed.is_array() || !sizes_only) {
    throw Stopped{Transfer::malformed};
  }
  const auto sizes = listed.get<std::vector<uint64_t>>();
  uint64_t left = limits.blob_bytes;
  for (const uint64_t size : sizes) {
    if (size > left || sizes.size() > limits.blobs) {
      throw Stopped{Transfer::too_large};
    }
    left -= size;
  }
  return sizes;
}

/// While it lives, writing to a pipe without a reader is an error and no signal.
class SigpipeIgnored {
 public:
  SigpipeIgnored() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~SigpipeIgnored() { sigaction(SIGPIPE, &before_, nullptr); }

 private:
  struct sigaction before_;
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
  fcntl(fd, F_SETPIPE_SZ, kPipeBytes);  // fewer turns for large blobs; fails harmlessly
}

Transfer read_message(int fd, Message& message, const Limits& limits, const Wait& wait) {
  bool begun = false;
  try {
    uint64_t size = 0;
    const auto size_bytes = std::as_writable_bytes(std::span(&size, 1));
    read_bytes(fd, size_bytes.first(1), wait);
    begun = true;
    read_bytes(fd, size_bytes.subspan(1), wait);
    if (size > limits.json_bytes) {
      return Transfer::too_large;
    }
    std::string text(size, '\0');
    read_bytes(fd, std::as_writable_bytes(std::span(text)), wait);
    if (nests_too_deep(text)) {
      return Transfer::malformed;
    }
    message.body = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!message.body.is_object()) {
      return Transfer::malformed;
    }
    message.blobs.clear();
    for (const uint64_t blob_size : take_blob_sizes(message.body, limits)) {
      read_blob(fd, message.blobs.emplace_back(), blob_size, wait);
    }
    return Transfer::done;
  } catch (const Stopped& stopped) {
    return begun && stopped.why == Transfer::closed ? Transfer::truncated : stopped.why;
  }
}

Transfer write_message(int fd, const Message& message, const Wait& wait) {
  nlohmann::json body = message.body;
  body["blobs"] = nlohmann::json::array();
  for (const Blob& blob : message.blobs) {
    body["blobs"].push_back(blob.size());
  }
  // Text that is no UTF-8 (a device's name, say) must not stop a message.
  const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const uint64_t size = text.size();
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&size, 1)),
                                                    std::as_bytes(std::span(text))};
  pieces.insert(pieces.end(), message.blobs.begin(), message.blobs.end());
  const SigpipeIgnored ignored;
  try {
    write_pieces(fd, pieces, wait);
    return Transfer::done;
  } catch (const Stopped& stopped) {
    return stopped.why;
  }
}

}  // namespace onepass::worker
