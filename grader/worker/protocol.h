// What the deciding process and the worker say to each other, and how it is framed.
//
// The deciding process starts a worker with the read end of one pipe on descriptor 3 (requests) and
// the write end of another on descriptor 4 (replies). A message is
//
//     8 bytes       the size of the JSON, a uint64_t
//     JSON          an object; "blobs" lists the sizes of the blobs that follow
//     the blobs     raw bytes, one after the other
//
// The JSON is {"id", "op", "content"}; a reply repeats the id of its request. One request gets one
// reply. The contents are structs of wire/messages.h:
//
//   op        content of the request   reply: op, content
//   hello     the protocol's version   hello, DeviceFacts; or unavailable, why there is no device
//   run       Call                     ran, Ran
//   ask       Question                 asked, [Launched]: of each of its calls
//   prepare   Call                     prepared, Ending: buffers to time with, on a GPU only
//   sample    SampleOrder              sampled, Sampled
//   fetch     FetchOrder               fetched, [FetchedBuffer]: of the set used last
//   release   null                     released, null: frees what was prepared
//   any, if it makes no sense, or fails before the student's code has been called:
//                                      refused, why: a fault of the grader or of the machine
//
// Every timed call gets the next set of buffers, and new contents: a hash fill uses
// fill_seed(seed, generation) of hash_fill.h. A blob's are the same in every set and at every call,
// for what cannot be any number: indices, say.
//
// "copy" is a function that the GPU worker adds to the binding's: buffers "src" and "dst", scalar
// "bytes", a multiple of 16. Its dtype is "", which answers to any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace onepass::worker {

constexpr int kProtocolVersion = 7;
constexpr int kRequestDescriptor = 3;  // in the worker: requests come in here,
constexpr int kReplyDescriptor = 4;    // and replies go out here

using Blob = std::vector<std::byte>;

struct Message {
  nlohmann::json body;  // an object; write_message() adds "blobs", read_message() takes it away
  std::vector<Blob> blobs;
};

/// A message of that operation; "id" is left to who sends it.
Message message_of(const char* operation, nlohmann::json content);

/// What a reader accepts before it gives up on the writer.
struct Limits {
  uint64_t json_bytes = uint64_t{64} << 20;
  uint64_t blob_bytes = uint64_t{64} << 30;  // all blobs of a message together
  uint64_t blobs = 4096;
};

enum class Transfer {
  done,
  closed,     // the other side closed the pipe between two messages
  truncated,  // the other side closed the pipe inside a message
  malformed,  // the size or the JSON makes no sense
  too_large,  // beyond the limits
  gave_up,    // the wait function returned false
  failed,     // the system refused to read or write
};

/// A sentence for a Transfer that is not `done`.
std::string describe(Transfer transfer);

/// Called when `fd` is not ready for `events` (POLLIN or POLLOUT). Returns true to try again,
/// normally once it is ready, false to give up. The deciding process waits with a deadline, and for
/// other descriptors too.
using Wait = std::function<bool(int fd, short events)>;

/// Waits without end.
bool wait_forever(int fd, short events);

/// Makes `fd` fit for the functions below: non-blocking, closed in a program started by exec, and,
/// where the system allows it, with a roomy pipe.
void prepare_descriptor(int fd);

/// Reads one message. `message` is only valid if the result is Transfer::done. After any other
/// result the descriptor is of no more use.
Transfer read_message(int fd, Message& message, const Limits& limits = {},
                      const Wait& wait = wait_forever);

/// Writes one message. A reader that has gone is Transfer::closed, never a signal.
Transfer write_message(int fd, const Message& message, const Wait& wait = wait_forever);

}  // namespace onepass::worker
