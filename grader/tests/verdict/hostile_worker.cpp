// A worker without a device whose function does what its name says: "honest" copies the input x to
// the output y; all others do what a student's code should not.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "wire/json.h"
#include "worker/protocol.h"

namespace {

using namespace onepass::worker;
namespace wire = onepass::wire;
using nlohmann::json;

/// The inputs as they came, and y = x.
Message answer(const wire::Call& call, const std::vector<Blob>& blobs) {
  wire::Ran ran;
  std::vector<Blob> back;
  std::size_t x = 0;
  for (const wire::BufferSpec& buffer : call.buffers) {
    x = buffer.fill == wire::Fill::blob ? buffer.blob : x;
    ran.buffers.push_back({buffer.name, static_cast<std::int64_t>(back.size())});
    back.push_back(blobs.at(x));
  }
  Message reply = message_of("ran", ran);
  reply.blobs = std::move(back);
  return reply;
}

/// The answer to "fetch", after a call that made every byte of every buffer 0.
Message zeros(const wire::Call& prepared, const wire::FetchOrder& order) {
  std::vector<wire::FetchedBuffer> buffers;
  std::vector<Blob> blobs;
  for (const wire::BufferSpec& buffer : prepared.buffers) {
    wire::FetchedBuffer fetched{buffer.name, order.rows, blobs.size()};
    std::erase_if(fetched.rows, [&](std::int64_t row) { return row >= buffer.rows; });
    blobs.emplace_back(fetched.rows.size() * buffer.row_bytes());
    buffers.push_back(fetched);
  }
  Message reply = message_of("fetched", buffers);
  reply.blobs = std::move(blobs);
  return reply;
}

void send_bytes(const std::string& bytes) {
  [[maybe_unused]] const ssize_t written = write(kReplyDescriptor, bytes.data(), bytes.size());
}

void spin() {
  for (volatile bool go_on = true; go_on;) {
  }
}

void flood() {
  for (int i = 0; i < 100000; ++i) {
    std::puts("PASS PASS PASS PASS PASS PASS PASS PASS PASS PASS PASS PASS");
  }
}

/// Children that leave the process group, so that killing the group does not reach them.
void leave_children() {
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) {
      setsid();
      for (;;) {
        pause();
      }
    }
  }
}

/// Grows without end, but slowly enough for the machine that runs this test.
void fork_without_end() {
  for (;;) {
    fork();
    usleep(2000);
  }
}

const std::map<std::string, void (*)()> kDeeds = {
    {"spin", spin},
    {"exit", [] { std::exit(0); }},
    {"abort", [] { std::abort(); }},
    {"segfault", [] { raise(SIGSEGV); }},
    {"flood", flood},
    {"flood_and_spin",
     [] {
       for (;;) {
         flood();
       }
     }},
    {"leave_children", leave_children},
    {"fork_bomb", fork_without_end},
    {"close",
     [] {
       for (int i = 0; i < 64; ++i) {
         close(i);
       }
       pause();
     }},
    {"garbage",
     [] {
       send_bytes(std::string(4096, 'x'));
       pause();
     }},
    {"no_json",
     [] {
       send_bytes(std::string("\x05\0\0\0\0\0\0\0hello", 13));
       pause();
     }},
    {"other_status",
     [] {
       wire::Ran ran;
       Message m = message_of("ran", ran);
       m.body["content"]["ending"]["outcome"] = "passed";
       m.body["id"] = 2;
       write_message(kReplyDescriptor, m);
     }},
    {"number_for_text",
     [] {
       wire::Ran ran;
       Message m = message_of("ran", ran);
       m.body["content"]["buffers"] = {{{"name", "y"}, {"blob", 1e300}}};
       m.body["id"] = 2;
       write_message(kReplyDescriptor, m);
     }},
    {"other_json",
     [] {
       Message m;
       m.body = {{"op", 5}, {"id", 2}, {"content", {1}}};
       write_message(kReplyDescriptor, m);
     }},
    {"half",
     [] {
       send_bytes(std::string("\x40\0\0\0\0\0\0\0{\"op\"", 13));
       std::exit(3);
     }},
    {"half_and_spin",
     [] {
       send_bytes(std::string("\x40\0\0\0", 4));
       pause();
     }},
    {"write_file", [] { std::exit(std::fopen("/tmp/onepass_hostile", "w") == nullptr ? 7 : 8); }},
    {"twice", [] {}},
    {"honest", [] {}},
};

Message served(const std::string& op, const json& content, const std::vector<Blob>& blobs) {
  static wire::Call prepared;
  if (op == "hello") {
    return message_of("hello", wire::DeviceFacts{"cpu", "none"});
  }
  if (op == "prepare") {
    prepared = content.get<wire::Call>();
    return message_of("prepared", wire::Ending{});
  }
  if (op == "fetch") {
    return zeros(prepared, content.get<wire::FetchOrder>());
  }
  const auto call = content.get<wire::Call>();
  const auto deed = kDeeds.find(call.function);
  if (deed == kDeeds.end()) {
    return message_of("refused", "no such function");
  }
  deed->second();
  return answer(call, blobs);
}

}  // namespace

int main() {
  Message request;
  while (read_message(kRequestDescriptor, request) == Transfer::done) {
    const json& content = request.body["content"];
    Message reply = served(request.body["op"], content, request.blobs);
    reply.body["id"] = request.body["id"];
    write_message(kReplyDescriptor, reply);
    if (content.is_object() && content.value("function", "") == "twice") {
      write_message(kReplyDescriptor, reply);
    }
  }
}
