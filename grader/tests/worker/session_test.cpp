// The session on a device made of plain memory.
#include "worker/session.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/worker/plain_device.h"
#include "wire/json.h"

namespace {

using namespace onepass::worker;
namespace wire = onepass::wire;
using nlohmann::json;

/// What the "student's" function does in the test at hand.
std::function<void(const Arguments&)> student;

void call_student(const Arguments& arguments) {
  student(arguments);
}

wire::BufferSpec matrix(const char* name, int64_t rows, int64_t cols, int64_t stride, bool output) {
  wire::BufferSpec spec;
  spec.name = name;
  spec.rows = rows;
  spec.cols = cols;
  spec.stride = stride;
  spec.is_output = output;
  spec.byte = 255;
  return spec;
}

/// One whose elements are those of the first blob.
wire::BufferSpec given(wire::BufferSpec spec) {
  spec.fill = wire::Fill::blob;
  return spec;
}

wire::BufferSpec null(const char* name, const char* over = "") {
  wire::BufferSpec spec;
  spec.name = name;
  spec.is_null = true;
  spec.over = over;
  return spec;
}

wire::Call call_of(std::vector<wire::BufferSpec> buffers) {
  wire::Call call;
  call.function = "student";
  call.dtype = "fp32";
  call.scalars = {{"rows", 2}, {"eps", 0.5}};
  call.buffers = std::move(buffers);
  return call;
}

Message ask(Session& session, const char* op, json content, std::vector<Blob> blobs = {}) {
  Message request = message_of(op, std::move(content));
  request.blobs = std::move(blobs);
  return session.answer(request);
}

bool is_refused(const Message& reply) {
  return reply.body.at("op") == "refused";
}

wire::Ran run(Session& session, std::vector<wire::BufferSpec> buffers,
              std::vector<Blob> blobs = {}) {
  return wire::read<wire::Ran>(
      ask(session, "run", call_of(std::move(buffers)), std::move(blobs)).body.at("content"));
}

Blob floats(std::initializer_list<float> values) {
  Blob blob(values.size() * sizeof(float));
  std::memcpy(blob.data(), values.begin(), blob.size());
  return blob;
}

TEST_SUITE("worker session") {
  TEST_CASE("hello tells the device, or why there is none; a reply has the request's id") {
    PlainDevice device;
    Session session(device);
    Message hello = message_of("hello", kProtocolVersion);
    hello.body["id"] = 9;
    Message reply = session.answer(hello);
    CHECK(reply.body.at("op") == "hello");
    CHECK(reply.body.at("id") == 9);
    CHECK(wire::read<DeviceFacts>(reply.body.at("content")).name == "plain memory");
    device.broken = true;
    reply = session.answer(hello);
    CHECK(reply.body.at("op") == "unavailable");
    CHECK(reply.body.at("content") == "the device is on holiday");
  }

  TEST_CASE("a call sees inputs and scalars, and its outputs come back dense") {
    PlainDevice device;
    Session session(device);
    student = [](const Arguments& arguments) {
      const auto* x = arguments.buffer<const float>("x");
      auto* y = arguments.buffer<float>("y");
      CHECK(arguments.buffer<float>("nothing") == nullptr);
      CHECK(arguments.buffer<float>("same") == arguments.buffer<float>("y"));
      for (int row = 0; row < arguments.integer("rows"); ++row) {
        for (int col = 0; col < 3; ++col) {
          y[row * 7 + col] = x[row * 5 + col] + static_cast<float>(arguments.real("eps"));
        }
      }
    };
    const Message reply =
        ask(session, "run",
            call_of({matrix("y", 2, 3, 7, true), given(matrix("x", 2, 3, 5, false)),
                     null("nothing"), null("same", "y")}),
            {floats({1, 2, 3, 4, 5, 6})});
    const auto ran = wire::read<wire::Ran>(reply.body.at("content"));
    CHECK(ran.ending.outcome == Outcome::ok);
    CHECK(ran.buffers.at(0).padding_row == -1);
    CHECK(ran.buffers.at(0).elements_before + ran.buffers.at(0).elements_after == 0);
    CHECK(ran.buffers.at(2).blob == -1);
    REQUIRE(reply.blobs.size() == 2);
    CHECK(reply.blobs[0] == floats({1.5, 2.5, 3.5, 4.5, 5.5, 6.5}));
    CHECK(reply.blobs[1] == floats({1, 2, 3, 4, 5, 6}));
  }

  TEST_CASE("work is held back, call by call, unless it is profiled") {
    struct HoldingDevice : PlainDevice {
      void hold_back(bool holds) override { held_back.push_back(holds); }
      std::vector<bool> held_back;
    } device;
    Session session(device);
    student = [](const Arguments&) {};
    wire::Call call = call_of({matrix("y", 2, 3, 3, true)});
    for (const bool profiled : {false, true, false}) {
      call.profiled = profiled;
      CHECK_FALSE(is_refused(ask(session, "run", call)));
    }
    CHECK(device.held_back == std::vector<bool>{true, false, true});
  }

  TEST_CASE("asked, it calls with each of the scalars in turn, on the same buffers") {
    PlainDevice device;
    Session session(device);
    std::vector<std::pair<int64_t, const void*>> calls;
    student = [&](const Arguments& arguments) {
      calls.emplace_back(arguments.integer("rows"), arguments.buffer<float>("y"));
      if (arguments.integer("rows") == 5) {
        throw std::runtime_error("five");
      }
    };
    const wire::Question question = {call_of({matrix("y", 9, 3, 3, true)}),
                                     {{{"rows", 3}}, {{"rows", 5}}, {{"rows", 9}}}};
    const auto answers =
        wire::read<std::vector<wire::Launched>>(ask(session, "ask", question).body.at("content"));
    REQUIRE(answers.size() == 3);
    CHECK(answers[0].went_well);
    CHECK_FALSE(answers[1].went_well);
    CHECK(answers[2].went_well);
    REQUIRE(calls.size() == 3);
    CHECK(calls[2].first == 9);
    CHECK(calls[2].second == calls[0].second);
  }

  TEST_CASE("stray writes are told by the place of the first, or the nearest") {
    PlainDevice device;
    Session session(device);
    const auto seen = [&](int64_t element) {
      student = [=](const Arguments& arguments) { arguments.buffer<float>("y")[element] = 1.0f; };
      return run(session, {matrix("y", 3, 4, 6, true)}).buffers.at(0);
    };
    CHECK(seen(3).padding_row == -1);
    CHECK(seen(4).padding_row == 0);
    CHECK(seen(4).padding_col == 4);
    CHECK(seen(11).padding_row == 1);
    CHECK(seen(11).padding_col == 5);
    CHECK(seen(15).elements_after == 0);
    CHECK(seen(16).elements_after == 1);
    CHECK(seen(18).elements_after == 3);
    CHECK(seen(-1).elements_before == 1);
    CHECK(seen(-3).elements_before == 3);
  }

  TEST_CASE("buffers that are views of one matrix: each has its rows, and the gaps are nobody's") {
    PlainDevice device;
    Session session(device);
    // Rows of 8: three elements of y, one of nobody's, two of x, two of nobody's; x in each second.
    std::vector<wire::BufferSpec> buffers = {given(matrix("x", 2, 2, 16, false)),
                                             matrix("y", 4, 3, 8, true)};
    buffers[0].in = "y";
    buffers[0].offset = 4;
    student = [](const Arguments& arguments) {
      const auto* x = arguments.buffer<const float>("x");
      auto* y = arguments.buffer<float>("y");
      CHECK(x == y + 4);
      for (int row = 0; row < 4; ++row) {
        for (int col = 0; col < 3; ++col) {
          y[8 * row + col] = x[16 * (row / 2) + col % 2];
        }
      }
    };
    const Message reply = ask(session, "run", call_of(buffers), {floats({1, 2, 3, 4})});
    const auto ran = wire::read<wire::Ran>(reply.body.at("content"));
    CHECK(ran.ending.outcome == Outcome::ok);
    REQUIRE(reply.blobs.size() == 2);
    CHECK(reply.blobs[0] == floats({1, 2, 3, 4}));
    CHECK(reply.blobs[1] == floats({1, 2, 1, 1, 2, 1, 3, 4, 3, 3, 4, 3}));
    for (const wire::SeenBuffer& seen : ran.buffers) {
      CHECK(seen.padding_row == -1);
      CHECK(seen.elements_before + seen.elements_after == 0);
    }
    const auto seen = [&](int64_t element, size_t buffer) {
      student = [=](const Arguments& arguments) { arguments.buffer<float>("y")[element] = 1.0f; };
      return run(session, buffers, {floats({1, 2, 3, 4})}).buffers.at(buffer);
    };
    CHECK(seen(3, 1).padding_row == 0);
    CHECK(seen(3, 1).padding_col == 3);
    CHECK(seen(7, 0).padding_row == 0);  // behind x
    CHECK(seen(7, 0).padding_col == 3);
    CHECK(seen(7, 1).padding_row == -1);
    CHECK(seen(12, 1).padding_row == 1);  // where x has no row
    CHECK(seen(12, 0).padding_row == -1);
    CHECK(seen(22, 0).elements_after == 1);  // the last row of x, but not of y
    CHECK(seen(27, 1).elements_after == 1);
    CHECK(seen(-1, 1).elements_before == 1);
    CHECK(seen(-1, 0).elements_before == 0);
    // In memory that is no buffer's, and on elements of another one.
    for (const auto& [in, offset] : std::vector<std::pair<const char*, int>>{{"z", 4}, {"y", 2}}) {
      wire::Call call = call_of(buffers);
      call.buffers[0].in = in;
      call.buffers[0].offset = offset;
      CHECK(is_refused(ask(session, "run", call, {floats({1, 2, 3, 4})})));
    }
  }

  TEST_CASE("padding that is read makes NaN, and gaps that are too large are left alone") {
    PlainDevice device;
    Session session(device);
    float seen = 0;
    student = [&](const Arguments& arguments) { seen = arguments.buffer<float>("x")[3]; };
    run(session, {matrix("x", 2, 3, 5, false)});
    CHECK(seen != seen);
    student = [](const Arguments& arguments) { arguments.buffer<float>("x")[3] = 1.0f; };
    CHECK(run(session, {matrix("x", 2, 3, 1 << 20, false)}).buffers.at(0).padding_row == -1);
  }

  TEST_CASE("no rows, and one row with any stride") {
    PlainDevice device;
    Session session(device);
    student = [](const Arguments&) {};
    const Message reply =
        ask(session, "run", call_of({matrix("y", 0, 4, 4, true), matrix("z", 1, 4, 100, true)}));
    CHECK(wire::read<wire::Ran>(reply.body.at("content")).buffers.at(0).elements_after == 0);
    CHECK(reply.blobs.at(0).empty());
    CHECK(reply.blobs.at(1).size() == 16);
  }

  TEST_CASE("a launcher that throws is at fault; a binding that asks for too much is not") {
    PlainDevice device;
    Session session(device);
    student = [](const Arguments&) { throw std::runtime_error("no idea"); };
    const Ending ending = run(session, {}).ending;
    CHECK(ending.outcome == Outcome::launch_error);
    CHECK(ending.error == "the launcher threw an exception: no idea");
    student = [](const Arguments& arguments) { arguments.buffer<float>("w"); };
    const Message reply = ask(session, "run", call_of({}));
    CHECK(is_refused(reply));
    CHECK(reply.body.at("content") == "the request has no buffer named w");
  }

  TEST_CASE("out of memory is told as such") {
    PlainDevice device;
    device.room = 10;
    Session session(device);
    const Ending ending = run(session, {matrix("y", 1, 4, 4, true)}).ending;
    CHECK(ending.outcome == Outcome::out_of_memory);
    CHECK(ending.error == "no room for y");
  }

  TEST_CASE("a request that makes no sense is refused, and the next one is served") {
    PlainDevice device;
    Session session(device);
    student = [](const Arguments&) {};
    const auto refused = [&](const char* op, const json& content) {
      return is_refused(ask(session, op, content, {Blob(4)}));
    };
    CHECK(is_refused(session.answer({json::object(), {}})));
    CHECK(is_refused(session.answer({{{"op", 3}, {"content", nullptr}}, {}})));
    CHECK(refused("dance", nullptr));
    CHECK(refused("hello", kProtocolVersion + 1));
    CHECK(refused("hello", "1"));
    CHECK(refused("sample", wire::SampleOrder{}));
    CHECK(refused("fetch", wire::FetchOrder{{0}}));
    wire::Call call = call_of({});
    call.trace = 10;  // this device keeps none, nor does a GPU
    CHECK(refused("run", call));
    call = call_of({});
    call.function = "nobody";
    CHECK(refused("run", call));
    CHECK(refused("run", call_of({matrix("y", 2, 4, 3, true)})));
    CHECK(refused("run", call_of({matrix("y", -1, 4, 4, true)})));
    CHECK(refused("run", call_of({matrix("y", int64_t{1} << 39, 4, int64_t{1} << 39, true)})));
    wire::BufferSpec buffer = given(matrix("y", 1, 4, 4, false));
    CHECK(refused("run", call_of({buffer})));  // the blob is too small
    buffer.blob = 1;
    CHECK(refused("run", call_of({buffer})));
    const json right = call_of({matrix("y", 1, 4, 4, true)});
    for (const auto& [member, value] : std::vector<std::pair<const char*, json>>{
             {"byte", 256}, {"fill", "paint"}, {"dtype", "fp8"}, {"rows", "one"}, {"judge", 1}}) {
      json wrong = right;
      wrong["buffers"][0][member] = value;
      CHECK(refused("run", wrong));
    }
    CHECK_FALSE(refused("run", right));
  }

  TEST_CASE("timed calls rotate through the sets, with new contents and poisoned outputs") {
    PlainDevice device;
    Session session(device);
    std::vector<const void*> places;
    bool poisoned = true;
    student = [&](const Arguments& arguments) {
      auto* const y = arguments.buffer<float>("y");
      poisoned = poisoned && y[0] != y[0];
      places.push_back(y);
      y[4] = arguments.buffer<const float>("x")[4];
      y[0] = 1.0f;
    };
    wire::BufferSpec x = matrix("x", 2, 4, 4, false);
    x.fill = wire::Fill::hash;
    x.hash = {5, 0.0, 1.0};
    wire::Call call = call_of({x, matrix("y", 2, 4, 4, true)});
    call.sets = 3;
    CHECK(ask(session, "prepare", call).body.at("op") == "prepared");

    const auto sampled = wire::read<wire::Sampled>(
        ask(session, "sample", wire::SampleOrder{3, 1}).body.at("content"));
    CHECK(sampled.ending.outcome == Outcome::ok);
    CHECK(sampled.ms == std::vector<double>{3.0, 4.0, 5.0});  // 1 is warm-up, 2 was not valid
    CHECK(sampled.generation == 5);
    CHECK(poisoned);
    REQUIRE(places.size() == 5);
    CHECK(places[0] != places[1]);
    CHECK(places[0] != places[2]);
    CHECK(places[0] == places[3]);

    const Message rows = ask(session, "fetch", wire::FetchOrder{{1, 2}});
    CHECK(rows.body.at("content").at(1).at("rows") == json{1});
    const float expected = hash_value(fill_seed(5, 5), 4, 0.0f, 1.0f);
    float fetched = 0;
    std::memcpy(&fetched, rows.blobs.at(1).data(), sizeof fetched);
    CHECK(fetched == expected);
    CHECK(ask(session, "release", nullptr).body.at("op") == "released");
    CHECK(is_refused(ask(session, "fetch", wire::FetchOrder{{0}})));
  }

  TEST_CASE("given values are the same in every set, and at every timed call again") {
    PlainDevice device;
    Session session(device);
    std::vector<float> seen;
    student = [&](const Arguments& arguments) {
      auto* const x = arguments.buffer<float>("x");
      seen.insert(seen.end(), x, x + 2);
      x[0] = -1.0f;  // what one call spoils, the next that gets this set does not find
    };
    wire::Call call = call_of({given(matrix("x", 1, 2, 2, false))});
    call.sets = 2;
    // The values must not be looked for in a request that is gone.
    REQUIRE(ask(session, "prepare", call, {floats({3, 5})}).body.at("op") == "prepared");
    REQUIRE(ask(session, "sample", wire::SampleOrder{3, 0}).body.at("op") == "sampled");
    CHECK(seen == std::vector<float>{3, 5, 3, 5, 3, 5, 3, 5});
    const Message rows = ask(session, "fetch", wire::FetchOrder{{0}});
    CHECK(rows.blobs.at(0) == floats({-1, 5}));
  }

  TEST_CASE("a refused prepare leaves nothing prepared") {
    PlainDevice device;
    Session session(device);
    student = [](const Arguments&) {};
    wire::Call call = call_of({matrix("y", 1, 4, 4, true)});
    REQUIRE(ask(session, "prepare", call).body.at("op") == "prepared");
    CHECK(ask(session, "sample", wire::SampleOrder{}).body.at("op") == "sampled");
    call.sets = 0;
    CHECK(is_refused(ask(session, "prepare", call)));
    CHECK(is_refused(ask(session, "sample", wire::SampleOrder{})));
  }
}

}  // namespace

onepass::worker::FunctionTable onepass::worker::bound_functions() {
  static constexpr Function table[] = {{"student", "fp32", call_student}};
  return {table, 1};
}
