// Whole worker programs, made of scale.cu: on the simulator always, on a GPU where there is one.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "worker/hash_fill.h"
#include "worker_program.h"

namespace {

using namespace onepass::worker;
using nlohmann::json;

enum Mode { right, too_many_threads, out_of_bounds, next_column, throws, exits, prints };

constexpr int kRows = 3;
constexpr int kCols = 100;

json buffer(const char* name, int stride, json fill, const char* role) {
  return {{"name", name},   {"rows", kRows},          {"cols", kCols}, {"stride", stride},
          {"offset", 1},    {"element_bytes", 4},     {"role", role},  {"padding", 17},
          {"return", true}, {"fill", std::move(fill)}};
}

json call(Mode mode, int stride) {
  const json hash = {{"seed", 3}, {"mean", 1.0}, {"scale", 0.5}, {"dtype", "fp32"}};
  return {{"op", "run"},
          {"function", "scale"},
          {"dtype", "fp32"},
          {"time_limit_s", 5.0},
          {"scalars",
           {{"stride", stride}, {"rows", kRows}, {"cols", kCols}, {"factor", 2.0}, {"mode", mode}}},
          {"buffers",
           {buffer("x", stride, {{"hash", hash}}, "input"),
            buffer("y", stride, {{"byte", 255}}, "output")}}};
}

Message ask(WorkerProgram& worker, const json& body) {
  Message reply;
  REQUIRE(worker.ask({body, {}}, reply) == Transfer::done);
  return reply;
}

json hello() {
  return {{"op", "hello"}, {"protocol", kProtocolVersion}};
}

float element(const Blob& blob, int index) {
  float value = 0;
  std::memcpy(&value, &blob.at(static_cast<size_t>(index) * sizeof value), sizeof value);
  return value;
}

/// The first element of y that is not 2 * x, -1 if all are right.
int first_wrong(const Message& reply) {
  for (int i = 0; i < kRows * kCols; ++i) {
    const float x = hash_value(3, static_cast<uint64_t>(i), 1.0f, 0.5f);
    if (element(reply.blobs.at(0), i) != x || element(reply.blobs.at(1), i) != 2 * x) {
      return i;
    }
  }
  return -1;
}

void check_right_call(WorkerProgram& worker, int stride) {
  const Message reply = ask(worker, call(right, stride));
  CHECK(reply.body.at("status") == "ok");
  CHECK(reply.body.at("error") == "");
  CHECK(first_wrong(reply) == -1);
  for (const json& seen : reply.body.at("buffers")) {
    CHECK(seen.at("padding_changed").is_null());
    CHECK(seen.at("guard_changed").is_null());
  }
}

/// What both devices tell in the same words.
void check_launchers(const std::string& path) {
  WorkerProgram worker(path);
  check_right_call(worker, kCols);
  check_right_call(worker, kCols + 13);
  check_right_call(worker, (1 << 20) + 1);  // gaps too large to fill

  Message reply = ask(worker, call(too_many_threads, kCols));
  CHECK(reply.body.at("status") == "launch error");
  CHECK(reply.body.at("error").get<std::string>().find("cudaErrorInvalid") == 0);
  CHECK(reply.body.at("buffers").empty());

  reply = ask(worker, call(throws, kCols));
  CHECK(reply.body.at("status") == "launch error");
  CHECK(reply.body.at("error") == "the launcher threw an exception: cannot");

  json next = call(next_column, kCols + 13);
  next["scalars"]["rows"] = kRows - 1;  // the last row's next column would be past the end
  reply = ask(worker, next);
  CHECK(reply.body.at("status") == "ok");
  CHECK(reply.body.at("buffers").at(1).at("padding_changed") == json{{"row", 0}, {"col", kCols}});

  CHECK(ask(worker, call(prints, kCols)).body.at("status") == "ok");
  CHECK(ask(worker, {{"op", "nonsense"}}).body.at("op") == "refused");
  check_right_call(worker, kCols);  // after a device error there would be no more
  CHECK(worker.finish() == "exited with 0");
}

void check_exit(const std::string& path) {
  WorkerProgram worker(path);
  Message reply;
  CHECK(worker.ask({call(exits, kCols), {}}, reply) == Transfer::closed);
  CHECK(worker.finish() == "exited with 0");
}

TEST_SUITE("worker program on the simulator") {
  const std::string path = ONEPASS_TEST_WORKER;

  TEST_CASE("it tells its device and functions") {
    WorkerProgram worker(path);
    const json reply = ask(worker, hello()).body;
    CHECK(reply.at("op") == "hello");
    CHECK(reply.at("device").at("kind") == "cpu");
    CHECK(reply.at("functions") == json::array({{{"name", "scale"}, {"dtype", "fp32"}}}));
    CHECK(ask(worker, {{"op", "sample"}, {"count", 1}, {"warmup", 0}}).body.at("op") == "refused");
    CHECK(worker.finish() == "exited with 0");
  }

  TEST_CASE("a right call, and what a launcher may do wrong") {
    check_launchers(path);
  }

  TEST_CASE("a launcher that exits closes the pipe") {
    check_exit(path);
  }

  TEST_CASE("findings and traffic come with the reply") {
    WorkerProgram worker(path);
    Message reply = ask(worker, call(right, kCols));
    CHECK(reply.body.at("findings").empty());
    REQUIRE(reply.body.at("traffic").size() == 1);
    const json launch = reply.body.at("traffic").at(0);
    CHECK(launch.at("grid") == json{kRows, 1, 1});
    CHECK(launch.at("block") == json{64, 1, 1});
    CHECK(launch.at("read_bytes") == kRows * kCols * 4);
    CHECK(launch.at("written_bytes") == kRows * kCols * 4);

    reply = ask(worker, call(next_column, kCols));  // the last row's last goes past the end of y
    REQUIRE_FALSE(reply.body.at("findings").empty());
    const json finding = reply.body.at("findings").at(0);
    CHECK(finding.at("kind") == "out-of-bounds-global");
    CHECK(finding.at("severity") == "error");
    CHECK(finding.at("buffer") == "y");
    const json party = finding.at("parties").at(0);
    CHECK(party.at("file").get<std::string>().find("scale.cu") != std::string::npos);
    CHECK(party.at("line") > 0);
    CHECK(party.at("block") == json{kRows - 1, 0, 0});

    reply = ask(worker, call(out_of_bounds, kCols));
    CHECK_FALSE(reply.body.at("findings").empty());
    check_right_call(worker, kCols);  // the simulator is as new after each error
  }
}

TEST_SUITE("the trace of requests") {
  json traced_call(int stride, int most) {
    json request = call(right, stride);
    request["trace"] = most;
    return request;
  }

  TEST_CASE("a call that asks for it gets each request, with its lanes and their offsets") {
    WorkerProgram worker(ONEPASS_TEST_WORKER);
    const Message reply = ask(worker, traced_call(kCols, 1000));
    REQUIRE(reply.body.at("trace").size() == 1);
    const json requests = reply.body.at("trace").at(0);
    // 64 threads walk over 100 columns: a read and a write of two warps each, then of 32 lanes, and
    // of the last four.
    CHECK(requests.size() == kRows * 2 * 4);
    int whole = 0;
    for (const json& request : requests) {
      CHECK(request.at("bytes") == 4);
      CHECK(request.at("block") < kRows);
      CHECK(request.at("least_units") <= request.at("units"));
      const json& offsets = request.at("offsets");
      const bool all_lanes = request.at("lanes") == 0xffffffffu;
      CHECK(offsets.size() == (all_lanes ? 32 : 4));
      CHECK(offsets.back().get<int>() - offsets.front().get<int>() == 4 * (all_lanes ? 31 : 3));
      whole += all_lanes ? 1 : 0;
    }
    CHECK(whole == kRows * 2 * 3);
  }

  TEST_CASE("no more than asked for, and none in the next call") {
    WorkerProgram worker(ONEPASS_TEST_WORKER);
    CHECK(ask(worker, traced_call(kCols, 5)).body.at("trace").at(0).size() == 5);
    CHECK_FALSE(ask(worker, call(right, kCols)).body.contains("trace"));
    CHECK(ask(worker, traced_call(kCols, -1)).body.at("op") == "refused");
    CHECK(ask(worker, traced_call(kCols, 1 << 30)).body.at("op") == "refused");
  }
}

#ifdef ONEPASS_TEST_GPU_WORKER
TEST_SUITE("worker program on a GPU") {
  const std::string path = ONEPASS_TEST_GPU_WORKER;

  bool there_is_a_gpu() {
    WorkerProgram worker(path);
    const json reply = ask(worker, hello()).body;
    if (reply.at("op") == "unavailable") {
      CHECK(reply.at("reason").get<std::string>().size() > 20);
      MESSAGE("no GPU to test on: ", reply.at("reason").get<std::string>());
      return false;
    }
    CHECK(reply.at("device").at("kind") == "gpu");
    CHECK(reply.at("device").at("multiprocessors") > 0);
    return true;
  }

  TEST_CASE("it tells its device, or why there is none") {
    there_is_a_gpu();
  }

  TEST_CASE("a right call, and what a launcher may do wrong") {
    if (there_is_a_gpu()) {
      check_launchers(path);
      check_exit(path);
    }
  }

  TEST_CASE("guard bands see a write past the end, and a far one is a device error") {
    if (!there_is_a_gpu()) {
      return;
    }
    WorkerProgram worker(path);
    Message reply = ask(worker, call(next_column, kCols));
    CHECK(reply.body.at("buffers").at(1).at("guard_changed") == json{{"elements_after", 1}});
    reply = ask(worker, call(out_of_bounds, kCols));
    CHECK(reply.body.at("status") == "device error");
    CHECK(reply.body.at("error").get<std::string>().find("cudaErrorIllegalAddress") == 0);
    CHECK(ask(worker, call(right, kCols)).body.at("op") == "refused");
    CHECK(worker.finish() == "exited with 0");
  }

  TEST_CASE("timed calls: plausible times, and the last call's rows can be fetched") {
    if (!there_is_a_gpu()) {
      return;
    }
    WorkerProgram worker(path);
    json prepare = call(right, kCols);
    prepare["op"] = "prepare";
    prepare["sets"] = 2;
    CHECK(ask(worker, prepare).body.at("status") == "ok");
    const json times = ask(worker, {{"op", "sample"}, {"count", 20}, {"warmup", 5}}).body;
    CHECK(times.at("status") == "ok");
    REQUIRE(times.at("ms").size() == 20);
    for (const json& ms : times.at("ms")) {
      CHECK(ms > 0.0);
      CHECK(ms < times.at("wall_ms"));
    }
    const Message rows = ask(worker, {{"op", "fetch"}, {"rows", {1}}});
    const uint64_t seed = fill_seed(3, times.at("generation").get<uint64_t>());
    const float x = hash_value(seed, kCols, 1.0f, 0.5f);
    CHECK(element(rows.blobs.at(0), 0) == x);
    CHECK(element(rows.blobs.at(1), 0) == 2 * x);
    CHECK(ask(worker, {{"op", "release"}}).body.at("op") == "released");
  }

  TEST_CASE("a copy is timed like any function") {
    if (!there_is_a_gpu()) {
      return;
    }
    WorkerProgram worker(path);
    json copy = call(right, kCols);
    copy["op"] = "prepare";
    copy["function"] = "copy";
    copy["sets"] = 1;
    copy["scalars"] = {{"bytes", kRows * kCols * 4}};
    copy["buffers"][0]["name"] = "src";
    copy["buffers"][1]["name"] = "dst";
    copy["buffers"][0]["offset"] = copy["buffers"][1]["offset"] = 0;
    CHECK(ask(worker, copy).body.at("status") == "ok");
    CHECK(ask(worker, {{"op", "sample"}, {"count", 10}, {"warmup", 2}}).body.at("ms").size() == 10);
    const Message rows = ask(worker, {{"op", "fetch"}, {"rows", {0, 1, 2}}});
    CHECK(rows.blobs.at(0) == rows.blobs.at(1));
  }
}
#endif

}  // namespace
