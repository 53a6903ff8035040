// Framing: what arrives whole is what was sent, and everything else gets a name.
#include "worker/protocol.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>

namespace {

using namespace onepass::worker;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    out = ends[0];
    in = ends[1];
    prepare_descriptor(out);
    prepare_descriptor(in);
  }
  ~Pipe() {
    close(out);
    close_in();
  }
  void close_in() {
    if (in >= 0) {
      close(in);
      in = -1;
    }
  }
  void put(const std::string& bytes) const {
    REQUIRE(write(in, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }

  int out = -1;
  int in = -1;
};

std::string size_prefix(uint64_t size) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(size >> (8 * i));
  }
  return bytes;
}

std::string frame(const std::string& json) {
  return size_prefix(json.size()) + json;
}

/// What reading gives if these bytes are all that ever comes.
Transfer read_all_of(const std::string& bytes, const Limits& limits = {}) {
  Pipe pipe;
  pipe.put(bytes);
  pipe.close_in();
  Message message;
  return read_message(pipe.out, message, limits);
}

TEST_SUITE("protocol") {
  TEST_CASE("a message with blobs arrives as it was sent, through a pipe smaller than it") {
    Message sent{{{"op", "run"}, {"text", "\u00e9\n"}}, {Blob(3'000'001), Blob{}, Blob(7)}};
    for (size_t i = 0; i < sent.blobs[0].size(); ++i) {
      sent.blobs[0][i] = static_cast<std::byte>(i * 31);
    }
    Pipe pipe;
    std::thread writer([&] { CHECK(write_message(pipe.in, sent) == Transfer::done); });
    Message received;
    CHECK(read_message(pipe.out, received) == Transfer::done);
    writer.join();
    CHECK(received.body == sent.body);
    CHECK(received.blobs == sent.blobs);
  }

  TEST_CASE("a message that comes byte by byte is one message") {
    const std::string bytes = frame(R"({"op":"x","blobs":[2]})") + "ab";
    Pipe pipe;
    std::thread writer([&] {
      for (const char byte : bytes) {
        pipe.put({byte});
        std::this_thread::yield();
      }
    });
    Message received;
    CHECK(read_message(pipe.out, received) == Transfer::done);
    writer.join();
    CHECK(received.body == nlohmann::json{{"op", "x"}});
    CHECK(received.blobs == std::vector<Blob>{{std::byte{'a'}, std::byte{'b'}}});
  }

  TEST_CASE("the end of the pipe is clean between messages only") {
    const std::string whole = frame(R"({"blobs":[4]})") + "1234";
    CHECK(read_all_of("") == Transfer::closed);
    for (size_t size = 1; size < whole.size(); ++size) {
      CAPTURE(size);
      CHECK(read_all_of(whole.substr(0, size)) == Transfer::truncated);
    }
    CHECK(read_all_of(whole) == Transfer::done);
  }

  TEST_CASE("garbage is malformed or too large, never an exception") {
    CHECK(read_all_of("PASS PASS PASS PASS") == Transfer::too_large);
    CHECK(read_all_of(frame("{\"op\":")) == Transfer::malformed);
    CHECK(read_all_of(frame("[1,2]")) == Transfer::malformed);
    CHECK(read_all_of(frame("")) == Transfer::malformed);
    CHECK(read_all_of(frame("\xff\xfe{}")) == Transfer::malformed);
    CHECK(read_all_of(frame(std::string(60'000, '['))) == Transfer::malformed);
    CHECK(read_all_of(frame(R"({"blobs":3})")) == Transfer::malformed);
    CHECK(read_all_of(frame(R"({"blobs":[-1]})")) == Transfer::malformed);
    CHECK(read_all_of(frame(R"({"blobs":["1"]})")) == Transfer::malformed);
    CHECK(read_all_of(frame(R"({"blobs":[1e30]})")) == Transfer::malformed);
  }

  TEST_CASE("sizes beyond the limits are refused before any memory is taken") {
    const Limits limits{.json_bytes = 100, .blob_bytes = 10, .blobs = 2};
    CHECK(read_all_of(size_prefix(101), limits) == Transfer::too_large);
    CHECK(read_all_of(size_prefix(~uint64_t{0}), limits) == Transfer::too_large);
    CHECK(read_all_of(frame(R"({"blobs":[6,5]})"), limits) == Transfer::too_large);
    CHECK(read_all_of(frame(R"({"blobs":[1,1,1]})"), limits) == Transfer::too_large);
    CHECK(read_all_of(frame(R"({"blobs":[18446744073709551615,11]})"), limits) ==
          Transfer::too_large);
    CHECK(read_all_of(frame(R"({"blobs":[6,4]})") + "0123456789", limits) == Transfer::done);
  }

  TEST_CASE("what nests without end is refused before a parser takes memory for it") {
    const std::string deep(40'000, '[');
    CHECK(read_all_of(frame("{\"a\":" + deep + std::string(40'000, ']') + "}")) ==
          Transfer::malformed);
    CHECK(read_all_of(frame("{\"a\":\"\\\"" + deep + "\"}")) == Transfer::done);
    CHECK(read_all_of(frame("{\"a\":[[1],[2],{\"b\":[]}]}")) == Transfer::done);
  }

  TEST_CASE("a wait that gives up ends the reading and the writing") {
    const Wait never = [](int, short) { return false; };
    Pipe pipe;
    Message message;
    CHECK(read_message(pipe.out, message, {}, never) == Transfer::gave_up);
    message = {nlohmann::json::object(), {Blob(size_t{8} << 20)}};
    CHECK(write_message(pipe.in, message, never) == Transfer::gave_up);
  }

  TEST_CASE("writing to a reader that has gone is an answer, not a signal") {
    std::signal(SIGPIPE, SIG_DFL);
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    close(ends[0]);
    CHECK(write_message(ends[1], {nlohmann::json::object(), {}}) == Transfer::closed);
    CHECK(write_message(ends[1], {nlohmann::json::object(), {}}) == Transfer::closed);
    close(ends[1]);
  }
}

}  // namespace
