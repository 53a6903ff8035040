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

#include "worker/protocol.h"

namespace {

using namespace onepass::worker;
using nlohmann::json;

/// The inputs as they came, and y = x.
Message answer(const Message& request) {
  Message reply;
  json buffers = json::array();
  std::size_t x = 0;
  for (const json& buffer : request.body["buffers"]) {
    const json& fill = buffer["fill"];
    x = fill.contains("blob") ? fill["blob"].get<std::size_t>() : x;
    reply.blobs.push_back(request.blobs[x]);
    buffers.push_back({{"name", buffer["name"]}, {"blob", reply.blobs.size() - 1}});
  }
  reply.body = {{"op", "ran"}, {"status", "ok"}, {"findings", json::array()}, {"buffers", buffers}};
  return reply;
}

/// The answer to "fetch", after a call that made every byte of every buffer 0.
Message zeros(const json& prepared, const json& asked) {
  Message reply;
  reply.body = {{"op", "fetched"}, {"buffers", json::array()}};
  for (const json& buffer : prepared) {
    json rows = json::array();
    for (const json& row : asked) {
      if (row < buffer["rows"]) {
        rows.push_back(row);
      }
    }
    const std::size_t row_bytes =
        buffer["cols"].get<std::size_t>() * buffer["element_bytes"].get<std::size_t>();
    reply.body["buffers"].push_back(
        {{"name", buffer["name"]}, {"rows", rows}, {"blob", reply.blobs.size()}});
    reply.blobs.emplace_back(rows.size() * row_bytes);
  }
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
    {"other_json",
     [] {
       Message m;
       m.body = {{"op", 5}, {"id", 2}, {"status", {1}}};
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

}  // namespace

int main() {
  Message request;
  json prepared;
  while (read_message(kRequestDescriptor, request) == Transfer::done) {
    Message reply;
    if (request.body["op"] == "hello") {
      reply.body = {{"op", "hello"},
                    {"protocol", kProtocolVersion},
                    {"device", {{"kind", "cpu"}, {"name", "none"}}},
                    {"functions", json::array()}};
    } else if (request.body["op"] == "prepare") {
      prepared = request.body["buffers"];
      reply.body = {{"op", "prepared"}, {"status", "ok"}, {"error", ""}};
    } else if (request.body["op"] == "fetch") {
      reply = zeros(prepared, request.body["rows"]);
    } else if (const auto deed = kDeeds.find(request.body["function"]); deed == kDeeds.end()) {
      reply.body = {{"op", "refused"}, {"reason", "no such function"}};
    } else {
      deed->second();
      reply = answer(request);
    }
    reply.body["id"] = request.body["id"];
    write_message(kReplyDescriptor, reply);
    if (request.body["function"] == "twice") {
      write_message(kReplyDescriptor, reply);
    }
  }
}
