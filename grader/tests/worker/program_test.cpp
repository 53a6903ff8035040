// Whole worker programs, made of scale.cu: on the simulator always, on a GPU where there is one.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "wire/json.h"
#include "worker/hash_fill.h"
#include "worker_program.h"

namespace {

using namespace onepass::worker;
namespace wire = onepass::wire;
using nlohmann::json;
using wire::Outcome;

enum Mode { right, too_many_threads, out_of_bounds, next_column, throws, exits, prints };

constexpr int kRows = 3;
constexpr int kCols = 100;

wire::BufferSpec buffer(const char* name, int stride) {
  wire::BufferSpec spec;
  spec.name = name;
  spec.rows = kRows;
  spec.cols = kCols;
  spec.stride = stride;
  spec.offset = 1;
  return spec;
}

wire::Call call(Mode mode, int stride) {
  wire::BufferSpec x = buffer("x", stride);
  x.fill = wire::Fill::hash;
  x.hash = {3, 1.0, 0.5};
  wire::BufferSpec y = buffer("y", stride);
  y.is_output = true;
  y.byte = 255;
  wire::Call call{"scale", "fp32", {}, {x, y}};
  call.time_limit_s = 5.0;
  call.scalars = {
      {"stride", stride}, {"rows", kRows}, {"cols", kCols}, {"factor", 2.0}, {"mode", mode}};
  return call;
}

Message ask(WorkerProgram& worker, const char* op, const json& content) {
  Message reply;
  REQUIRE(worker.ask(message_of(op, content), reply) == Transfer::done);
  return reply;
}

struct Answer : wire::Ran {
  std::vector<Blob> blobs;
};

Answer run(WorkerProgram& worker, const wire::Call& call) {
  const Message reply = ask(worker, "run", call);
  REQUIRE(reply.body.at("op") == "ran");
  return {wire::read<wire::Ran>(reply.body.at("content")), reply.blobs};
}

bool refuses(WorkerProgram& worker, const char* op, const json& content) {
  return ask(worker, op, content).body.at("op") == "refused";
}

float element(const Blob& blob, int index) {
  float value = 0;
  std::memcpy(&value, &blob.at(static_cast<size_t>(index) * sizeof value), sizeof value);
  return value;
}

/// The first element of y that is not 2 * x, -1 if all are right.
int first_wrong(const Answer& reply) {
  for (int i = 0; i < kRows * kCols; ++i) {
    const float x = hash_value(3, static_cast<uint64_t>(i), 1.0f, 0.5f);
    if (element(reply.blobs.at(0), i) != x || element(reply.blobs.at(1), i) != 2 * x) {
      return i;
    }
  }
  return -1;
}

void check_right_call(WorkerProgram& worker, int stride) {
  const Answer answer = run(worker, call(right, stride));
  CHECK(answer.ending.outcome == Outcome::ok);
  CHECK(answer.ending.error == "");
  CHECK(first_wrong(answer) == -1);
  for (const wire::SeenBuffer& seen : answer.buffers) {
    CHECK(seen.padding_row == -1);
    CHECK(seen.elements_before + seen.elements_after == 0);
  }
}

/// What both devices tell in the same words.
void check_launchers(const std::string& path) {
  WorkerProgram worker(path);
  check_right_call(worker, kCols);
  check_right_call(worker, kCols + 13);
  check_right_call(worker, (1 << 20) + 1);  // gaps too large to fill

  Answer answer = run(worker, call(too_many_threads, kCols));
  CHECK(answer.ending.outcome == Outcome::launch_error);
  CHECK(answer.ending.error.find("cudaErrorInvalid") == 0);
  CHECK(answer.buffers.empty());

  answer = run(worker, call(throws, kCols));
  CHECK(answer.ending.outcome == Outcome::launch_error);
  CHECK(answer.ending.error == "the launcher threw an exception: cannot");

  wire::Call next = call(next_column, kCols + 13);
  next.scalars["rows"] = kRows - 1;  // the last row's next column would be past the end
  answer = run(worker, next);
  CHECK(answer.ending.outcome == Outcome::ok);
  CHECK(answer.buffers.at(1).padding_row == 0);
  CHECK(answer.buffers.at(1).padding_col == kCols);

  CHECK(run(worker, call(prints, kCols)).ending.outcome == Outcome::ok);
  CHECK(refuses(worker, "nonsense", nullptr));
  check_right_call(worker, kCols);  // after a device error there would be no more
  CHECK(worker.finish() == "exited with 0");
}

void check_exit(const std::string& path) {
  WorkerProgram worker(path);
  Message reply;
  CHECK(worker.ask(message_of("run", call(exits, kCols)), reply) == Transfer::closed);
  CHECK(worker.finish() == "exited with 0");
}

TEST_SUITE("worker program on the simulator") {
  const std::string path = ONEPASS_TEST_WORKER;

  TEST_CASE("it tells its device") {
    WorkerProgram worker(path);
    const Message reply = ask(worker, "hello", kProtocolVersion);
    CHECK(wire::read<wire::DeviceFacts>(reply.body.at("content")).kind == "cpu");
    CHECK(refuses(worker, "sample", wire::SampleOrder{}));
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
    Answer answer = run(worker, call(right, kCols));
    CHECK(answer.observations.findings.empty());
    REQUIRE(answer.observations.traffic.size() == 1);
    const simulator::LaunchTraffic& launch = answer.observations.traffic[0];
    CHECK(launch.grid == simulator::Dim3{kRows, 1, 1});
    CHECK(launch.block == simulator::Dim3{64, 1, 1});
    CHECK(launch.read_bytes == kRows * kCols * 4);
    CHECK(launch.written_bytes == kRows * kCols * 4);
    CHECK(launch.lines.empty());
    CHECK(launch.function ==
          "scale_test::scale_kernel(float const*, float*, long, int, float, long)");
    CHECK(launch.dynamic_shared_bytes == 0);

    answer = run(worker, call(next_column, kCols));  // the last row's last goes past the end of y
    REQUIRE_FALSE(answer.observations.findings.empty());
    const simulator::Finding& finding = answer.observations.findings[0];
    CHECK(finding.kind == simulator::Kind::out_of_bounds_global);
    CHECK_FALSE(finding.warning);
    CHECK(finding.buffer == "y");
    const simulator::Party& party = finding.parties.at(0);
    CHECK(party.file.find("scale.cu") != std::string::npos);
    CHECK(party.line > 0);
    CHECK(party.block == simulator::Dim3{kRows - 1, 0, 0});

    CHECK_FALSE(run(worker, call(out_of_bounds, kCols)).observations.findings.empty());
    check_right_call(worker, kCols);  // the simulator is as new after each error
  }
}

TEST_SUITE("the trace of requests") {
  wire::Call traced_call(int stride, int most) {
    wire::Call traced = call(right, stride);
    traced.trace = most;
    return traced;
  }

  TEST_CASE("a call that asks for it gets each request, with its lanes and their offsets") {
    WorkerProgram worker(ONEPASS_TEST_WORKER);
    const Answer answer = run(worker, traced_call(kCols, 1000));
    REQUIRE(answer.observations.trace.size() == 1);
    const auto& requests = answer.observations.trace[0];
    // 64 threads walk over 100 columns: a read and a write of two warps each, then of 32 lanes, and
    // of the last four.
    CHECK(requests.size() == kRows * 2 * 4);
    int whole = 0;
    for (const simulator::TracedRequest& request : requests) {
      CHECK(request.bytes == 4);
      CHECK(request.block < kRows);
      CHECK(request.least_units <= request.units);
      const bool all_lanes = request.lanes == 0xffffffffu;
      REQUIRE(request.offsets.size() == (all_lanes ? 32 : 4));
      CHECK(request.offsets.back() - request.offsets.front() == 4 * (all_lanes ? 31 : 3));
      whole += all_lanes ? 1 : 0;
    }
    CHECK(whole == kRows * 2 * 3);
  }

  TEST_CASE("no more than asked for, and none in the next call") {
    WorkerProgram worker(ONEPASS_TEST_WORKER);
    CHECK(run(worker, traced_call(kCols, 5)).observations.trace.at(0).size() == 5);
    CHECK(run(worker, call(right, kCols)).observations.trace.at(0).empty());
    CHECK(refuses(worker, "run", traced_call(kCols, -1)));
    CHECK(refuses(worker, "run", traced_call(kCols, 1 << 30)));
  }
}

#ifdef ONEPASS_TEST_GPU_WORKER
TEST_SUITE("worker program on a GPU") {
  const std::string path = ONEPASS_TEST_GPU_WORKER;

  bool there_is_a_gpu() {
    WorkerProgram worker(path);
    const json reply = ask(worker, "hello", kProtocolVersion).body;
    const json& content = reply.at("content");
    if (reply.at("op") == "unavailable") {
      CHECK(content.get<std::string>().size() > 20);
      MESSAGE("no GPU to test on: ", content.get<std::string>());
      return false;
    }
    CHECK(content.at("kind") == "gpu");
    CHECK(content.at("multiprocessors") > 0);
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
    CHECK(run(worker, call(next_column, kCols)).buffers.at(1).elements_after == 1);
    const wire::Ending ending = run(worker, call(out_of_bounds, kCols)).ending;
    CHECK(ending.outcome == Outcome::device_error);
    CHECK(ending.error.find("cudaErrorIllegalAddress") == 0);
    CHECK(refuses(worker, "run", call(right, kCols)));
    CHECK(worker.finish() == "exited with 0");
  }

  TEST_CASE("timed calls: plausible times, and the last call's rows can be fetched") {
    if (!there_is_a_gpu()) {
      return;
    }
    WorkerProgram worker(path);
    wire::Call prepared = call(right, kCols);
    prepared.sets = 2;
    CHECK(ask(worker, "prepare", prepared).body.at("op") == "prepared");
    const auto sampled = wire::read<wire::Sampled>(
        ask(worker, "sample", wire::SampleOrder{20, 5}).body.at("content"));
    CHECK(sampled.ending.outcome == Outcome::ok);
    REQUIRE(sampled.ms.size() == 20);
    for (const double ms : sampled.ms) {
      CHECK(ms > 0.0);
      CHECK(ms < 1000.0);
    }
    const Message rows = ask(worker, "fetch", wire::FetchOrder{{1}});
    const uint64_t seed = fill_seed(3, sampled.generation);
    const float x = hash_value(seed, kCols, 1.0f, 0.5f);
    CHECK(element(rows.blobs.at(0), 0) == x);
    CHECK(element(rows.blobs.at(1), 0) == 2 * x);
    CHECK(ask(worker, "release", nullptr).body.at("op") == "released");
  }

  TEST_CASE("a copy is timed like any function") {
    if (!there_is_a_gpu()) {
      return;
    }
    WorkerProgram worker(path);
    wire::Call copy = call(right, kCols);
    copy.function = "copy";
    copy.scalars = {{"bytes", kRows * kCols * 4}};
    copy.buffers[0].name = "src";
    copy.buffers[1].name = "dst";
    copy.buffers[0].offset = copy.buffers[1].offset = 0;
    CHECK(ask(worker, "prepare", copy).body.at("op") == "prepared");
    const json sampled = ask(worker, "sample", wire::SampleOrder{10, 2}).body.at("content");
    CHECK(wire::read<wire::Sampled>(sampled).ms.size() == 10);
    const Message rows = ask(worker, "fetch", wire::FetchOrder{{0, 1, 2}});
    CHECK(rows.blobs.at(0) == rows.blobs.at(1));
  }
}
#endif

}  // namespace
