// What the deciding process and the worker say to each other, and how it is framed.
//
// The deciding process starts a worker with the read end of one pipe on descriptor 3 (requests) and
// the write end of another on descriptor 4 (replies). A message is
//
//     8 bytes       the size of the JSON, little endian
//     JSON          an object; "blobs" lists the sizes of the blobs that follow
//     the blobs     raw bytes, one after the other
//
// One request gets one reply. A request may carry an "id"; the reply repeats it.
//
//   hello    {"protocol":1}
//            {"op":"hello","protocol":1,"device":{"kind","name","memory_bytes","l2_bytes"?,
//             "multiprocessors"?,"peak_gbs"?},"functions":[{"name","dtype"}]}
//            {"op":"unavailable","reason"}           there is no device to work with
//   run      {"function","dtype","scalars":{name:number},"buffers":[Buffer],"time_limit_s",
//             and on the simulator "lines": count traffic by line of source too (false),
//             "trace": and keep the first so many requests of each launch (0)}
//            {"op":"ran","status","error","findings":[Finding],"traffic":[LaunchTraffic],
//             "buffers":[{"name","blob":i|null,"padding_changed":null|{"row","col"},
//                         "guard_changed":null|{"elements_before":n}|{"elements_after":n}}]}
//            status: "ok", "launch error", "device error" or "out of memory". "buffers" is empty
//            unless the status is "ok". After a "device error" the worker is of no more use.
//            With a trace also "trace":[[TracedRequest]], a list for each launch of "traffic".
//   prepare  {"function","dtype","scalars","buffers","sets":k}
//            {"op":"prepared","status","error"}      k sets of buffers to time with, on a GPU only
//   sample   {"count":n,"warmup":m}
//            {"op":"sampled","status","error","ms":[n times],"set":j,"generation":g,"wall_ms"}
//            Every call gets the next set of buffers, and new contents: a hash fill uses
//            fill_seed(seed, generation) of hash_fill.h. A blob's are the same in every set and at
//            every call, for what cannot be any number: indices, say. j and g are those of the
//            last call.
//   fetch    {"rows":[r]}
//            {"op":"fetched","buffers":[{"name","rows":[r],"blob":i}]}   of the set used last;
//            rows that a buffer does not have are left out
//   release  {}   {"op":"released"}                  frees the prepared sets
//
//   "copy" is a function that the GPU worker adds to the binding's: buffers "src" and "dst", scalar
//   "bytes", a multiple of 16. Its dtype is "", which answers to any.
//
//   Any request that makes no sense, or that fails before the student's code has been called:
//            {"op":"refused","reason"}               a fault of the grader or of the machine
//
//   LaunchTraffic  {"kernel","grid","block","read_bytes","written_bytes"}, and with "lines" also
//             "read_sectors","written_sectors","lines":[LineTraffic of simulator.h, its fields with
//             "space": "global" or "shared", "type": "read", "write" or "atomic"]
//
//   TracedRequest  of simulator.h: {"block","warp","step","line": index into the launch's "lines",
//             "lanes","bytes","units","least_units","offsets":[of the active lanes]}
//
//   Buffer   {"name","rows","cols","stride","element_bytes",
//             "offset":  elements between a 256-byte aligned address and the first one (0),
//             "role":    "input" or "output"; an output counts as uninitialised until written,
//             "null":    the function gets a null pointer (false),
//             "over":    of a null one: it gets the address of the buffer of this name instead,
//                        which holds an input before the call and this output after it (""),
//             "fill":    {"blob":i}, dense rows*cols elements, or {"byte":n}, or
//                        {"hash":{"seed","mean","scale","dtype"}},
//             "padding": the byte between the end of a row and the start of the next; as it is
//                        by default, 255 (NaN in every type) for an input and 165 for an output.
//                        Gaps above 1 MiB are neither filled nor checked,
//             "return":  send it back after the call (true)}
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace onepass::worker {

constexpr int kProtocolVersion = 1;
constexpr int kRequestDescriptor = 3;  // in the worker: requests come in here,
constexpr int kReplyDescriptor = 4;    // and replies go out here

using Blob = std::vector<std::byte>;

struct Message {
  nlohmann::json body;  // an object; write_message() adds "blobs", read_message() takes it away
  std::vector<Blob> blobs;
};

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
