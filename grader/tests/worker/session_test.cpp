// The session on a device made of plain memory between guard bands, as a GPU has them.
#include "worker/session.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <new>

#include "worker/hash_fill.h"

namespace {

using namespace onepass::worker;
using nlohmann::json;

/// What the "student's" function does in the test at hand.
std::function<void(const Arguments&)> student;

void call_student(const Arguments& arguments) {
  student(arguments);
}

class TestDevice : public Device {
 public:
  DeviceFacts facts() override {
    if (broken) {
      throw Unavailable("the device is on holiday");
    }
    DeviceFacts facts;
    facts.kind = "cpu";
    facts.name = "plain memory";
    facts.memory_bytes = room;
    return facts;
  }
  Allocation allocate(const BufferSpec& spec) override {
    if (spec.span_bytes() > room) {
      throw OutOfMemory("no room for " + spec.name);
    }
    auto* const memory = new std::byte[2 * kGuard + spec.span_bytes()];
    return {memory + kGuard, kGuard, kGuard};
  }
  void release(const Allocation& allocation) noexcept override {
    if (allocation.first != nullptr) {
      delete[](allocation.first - kGuard);
    }
  }
  void upload(const Area& area, const std::byte* from) override {
    for (size_t row = 0; row < area.rows; ++row) {
      std::memcpy(area.first + row * area.pitch, from + row * area.width, area.width);
    }
  }
  void download(std::byte* to, const Area& area) override {
    for (size_t row = 0; row < area.rows; ++row) {
      std::memcpy(to + row * area.width, area.first + row * area.pitch, area.width);
    }
  }
  void set(const Area& area, unsigned char byte) override {
    for (size_t row = 0; row < area.rows; ++row) {
      std::memset(area.first + row * area.pitch, byte, area.width);
    }
  }
  void hash_fill(const Area& area, const HashFill& fill) override {
    const size_t cols = area.width / sizeof(float);
    for (size_t i = 0; i < area.rows * cols; ++i) {
      const float value = hash_value(fill.seed, i, fill.mean, fill.scale);
      std::memcpy(area.first + i / cols * area.pitch + i % cols * sizeof(float), &value,
                  sizeof value);
    }
  }
  Outcome call(const Function& function, const ArgumentTable& table, double) override {
    const std::string error = enter(function, table);
    return error.empty() ? Outcome{} : Outcome{Status::launch_error, error};
  }
  std::unique_ptr<Stopwatch> make_stopwatch() override {
    struct Counter : Stopwatch {
      Sample time(const Function& function, const ArgumentTable& table) override {
        enter(function, table);
        ++calls;
        return {{}, static_cast<double>(calls), calls != 2};  // the second is to be tried again
      }
      int calls = 0;
    };
    return std::make_unique<Counter>();
  }

  bool broken = false;
  size_t room = size_t{1} << 30;

 private:
  static constexpr size_t kGuard = 64;
};

json matrix(const char* name, int64_t rows, int64_t cols, int64_t stride, const char* role) {
  return {{"name", name},       {"rows", rows}, {"cols", cols},           {"stride", stride},
          {"element_bytes", 4}, {"role", role}, {"fill", {{"byte", 255}}}};
}

json call_of(json buffers) {
  return {{"op", "run"},
          {"function", "student"},
          {"dtype", "fp32"},
          {"scalars", {{"rows", 2}, {"eps", 0.5}}},
          {"buffers", std::move(buffers)}};
}

Blob floats(std::initializer_list<float> values) {
  Blob blob(values.size() * sizeof(float));
  std::memcpy(blob.data(), values.begin(), blob.size());
  return blob;
}

json first_buffer(const Message& reply) {
  REQUIRE(reply.body.at("op") == "ran");
  REQUIRE(reply.body.at("status") == "ok");
  return reply.body.at("buffers").at(0);
}

TEST_SUITE("worker session") {
  TEST_CASE("hello tells the device and its functions, or why there is none") {
    TestDevice device;
    Session session(device);
    const json hello = {{"op", "hello"}, {"protocol", 1}, {"id", 9}};
    Message reply = session.answer({hello, {}});
    CHECK(reply.body.at("op") == "hello");
    CHECK(reply.body.at("id") == 9);
    CHECK(reply.body.at("device").at("name") == "plain memory");
    CHECK_FALSE(reply.body.at("device").contains("peak_gbs"));
    CHECK(reply.body.at("functions") == json::array({{{"name", "student"}, {"dtype", "fp32"}}}));
    device.broken = true;
    reply = session.answer({hello, {}});
    CHECK(reply.body.at("op") == "unavailable");
    CHECK(reply.body.at("reason") == "the device is on holiday");
  }

  TEST_CASE("a call sees inputs and scalars, and its outputs come back dense") {
    TestDevice device;
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
    json x = matrix("x", 2, 3, 5, "input");
    x["fill"] = {{"blob", 0}};
    const json nothing = {{"name", "nothing"}, {"null", true}};
    const json same = {{"name", "same"}, {"null", true}, {"over", "y"}};
    const Message reply =
        session.answer({call_of({matrix("y", 2, 3, 7, "output"), x, nothing, same}),
                        {floats({1, 2, 3, 4, 5, 6})}});
    CHECK(first_buffer(reply).at("padding_changed").is_null());
    CHECK(first_buffer(reply).at("guard_changed").is_null());
    REQUIRE(reply.blobs.size() == 2);
    CHECK(reply.blobs[0] == floats({1.5, 2.5, 3.5, 4.5, 5.5, 6.5}));
    CHECK(reply.blobs[1] == floats({1, 2, 3, 4, 5, 6}));
  }

  TEST_CASE("stray writes are told by the place of the first, or the nearest") {
    TestDevice device;
    Session session(device);
    const auto run = [&](int64_t element) {
      student = [=](const Arguments& arguments) { arguments.buffer<float>("y")[element] = 1.0f; };
      return first_buffer(session.answer({call_of({matrix("y", 3, 4, 6, "output")}), {}}));
    };
    CHECK(run(3).at("padding_changed").is_null());
    CHECK(run(4).at("padding_changed") == json{{"row", 0}, {"col", 4}});
    CHECK(run(11).at("padding_changed") == json{{"row", 1}, {"col", 5}});
    CHECK(run(15).at("guard_changed").is_null());
    CHECK(run(16).at("guard_changed") == json{{"elements_after", 1}});
    CHECK(run(18).at("guard_changed") == json{{"elements_after", 3}});
    CHECK(run(-1).at("guard_changed") == json{{"elements_before", 1}});
    CHECK(run(-3).at("guard_changed") == json{{"elements_before", 3}});
  }

  TEST_CASE("padding that is read makes NaN, and gaps that are too large are left alone") {
    TestDevice device;
    Session session(device);
    float seen = 0;
    student = [&](const Arguments& arguments) { seen = arguments.buffer<float>("x")[3]; };
    first_buffer(session.answer({call_of({matrix("x", 2, 3, 5, "input")}), {}}));
    CHECK(seen != seen);
    student = [](const Arguments& arguments) { arguments.buffer<float>("x")[3] = 1.0f; };
    const json wide = matrix("x", 2, 3, 1 << 20, "input");
    CHECK(first_buffer(session.answer({call_of({wide}), {}})).at("padding_changed").is_null());
  }

  TEST_CASE("no rows, and one row with any stride") {
    TestDevice device;
    Session session(device);
    student = [](const Arguments&) {};
    const Message reply = session.answer(
        {call_of({matrix("y", 0, 4, 4, "output"), matrix("z", 1, 4, 100, "output")}), {}});
    CHECK(first_buffer(reply).at("guard_changed").is_null());
    CHECK(reply.blobs[0].empty());
    CHECK(reply.blobs[1].size() == 16);
  }

  TEST_CASE("a launcher that throws is at fault; a binding that asks for too much is not") {
    TestDevice device;
    Session session(device);
    student = [](const Arguments&) { throw std::runtime_error("no idea"); };
    Message reply = session.answer({call_of(json::array()), {}});
    CHECK(reply.body.at("status") == "launch error");
    CHECK(reply.body.at("error") == "the launcher threw an exception: no idea");
    student = [](const Arguments& arguments) { arguments.buffer<float>("w"); };
    reply = session.answer({call_of(json::array()), {}});
    CHECK(reply.body.at("op") == "refused");
    CHECK(reply.body.at("reason") == "the request has no buffer named w");
  }

  TEST_CASE("out of memory is told as such") {
    TestDevice device;
    device.room = 10;
    Session session(device);
    const Message reply = session.answer({call_of({matrix("y", 1, 4, 4, "output")}), {}});
    CHECK(reply.body.at("op") == "ran");
    CHECK(reply.body.at("status") == "out of memory");
    CHECK(reply.body.at("error") == "no room for y");
  }

  TEST_CASE("a request that makes no sense is refused, and the next one is served") {
    TestDevice device;
    Session session(device);
    student = [](const Arguments&) {};
    const auto refused = [&](const json& body) {
      return session.answer({body, {Blob(4)}}).body.at("op") == "refused";
    };
    CHECK(refused(json::object()));
    CHECK(refused({{"op", 3}}));
    CHECK(refused({{"op", "dance"}}));
    CHECK(refused({{"op", "hello"}, {"protocol", 2}}));
    json traced = call_of(json::array());
    traced["trace"] = 10;  // this device keeps none, nor does a GPU
    CHECK(refused(traced));
    CHECK(refused({{"op", "sample"}, {"count", 1}, {"warmup", 0}}));
    CHECK(refused({{"op", "fetch"}, {"rows", {0}}}));
    json call = call_of(json::array());
    call["function"] = "nobody";
    CHECK(refused(call));
    CHECK(refused(call_of({matrix("y", 2, 4, 3, "output")})));
    CHECK(refused(call_of({matrix("y", -1, 4, 4, "output")})));
    CHECK(refused(call_of({matrix("y", int64_t{1} << 39, 4, int64_t{1} << 39, "output")})));
    CHECK(refused(call_of({matrix("y", 1, 4, 4, "judge")})));
    json buffer = matrix("y", 1, 4, 4, "output");
    for (const json& fill : {json{{"blob", 0}}, json{{"blob", 1}}, json{{"byte", 256}}, json()}) {
      buffer["fill"] = fill;
      CHECK(refused(call_of({buffer})));
    }
    CHECK_FALSE(refused(call_of({matrix("y", 1, 4, 4, "output")})));
  }

  TEST_CASE("timed calls rotate through the sets, with new contents and poisoned outputs") {
    TestDevice device;
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
    json x = matrix("x", 2, 4, 4, "input");
    x["fill"] = {{"hash", {{"seed", 5}, {"mean", 0.0}, {"scale", 1.0}, {"dtype", "fp32"}}}};
    json prepare = call_of({x, matrix("y", 2, 4, 4, "output")});
    prepare["op"] = "prepare";
    prepare["sets"] = 3;
    CHECK(session.answer({prepare, {}}).body.at("op") == "prepared");

    const Message reply = session.answer({{{"op", "sample"}, {"count", 3}, {"warmup", 1}}, {}});
    CHECK(reply.body.at("status") == "ok");
    CHECK(reply.body.at("ms") == json{3.0, 4.0, 5.0});  // 1 is warm-up, 2 was not valid
    CHECK(reply.body.at("generation") == 5);
    CHECK(poisoned);
    REQUIRE(places.size() == 5);
    CHECK(places[0] != places[1]);
    CHECK(places[0] != places[2]);
    CHECK(places[0] == places[3]);

    const Message rows = session.answer({{{"op", "fetch"}, {"rows", {1, 2}}}, {}});
    CHECK(rows.body.at("buffers").at(1).at("rows") == json{1});
    const float expected = hash_value(fill_seed(5, 5), 4, 0.0f, 1.0f);
    float fetched = 0;
    std::memcpy(&fetched, rows.blobs.at(1).data(), sizeof fetched);
    CHECK(fetched == expected);
    CHECK(session.answer({{{"op", "release"}}, {}}).body.at("op") == "released");
    CHECK(session.answer({{{"op", "fetch"}, {"rows", {0}}}, {}}).body.at("op") == "refused");
  }

  TEST_CASE("given values are the same in every set, and at every timed call again") {
    TestDevice device;
    Session session(device);
    std::vector<float> seen;
    student = [&](const Arguments& arguments) {
      auto* const x = arguments.buffer<float>("x");
      seen.insert(seen.end(), x, x + 2);
      x[0] = -1.0f;  // what one call spoils, the next that gets this set does not find
    };
    json x = matrix("x", 1, 2, 2, "input");
    x["fill"] = {{"blob", 0}};
    json prepare = call_of({x});
    prepare["op"] = "prepare";
    prepare["sets"] = 2;
    {
      const Message request = {prepare, {floats({3, 5})}};
      REQUIRE(session.answer(request).body.at("op") == "prepared");
    }  // the values must not be looked for in a request that is gone
    const json sample = {{"op", "sample"}, {"count", 3}, {"warmup", 0}};
    REQUIRE(session.answer({sample, {}}).body.at("status") == "ok");
    CHECK(seen == std::vector<float>{3, 5, 3, 5, 3, 5, 3, 5});
    const Message rows = session.answer({{{"op", "fetch"}, {"rows", {0}}}, {}});
    CHECK(rows.blobs.at(0) == floats({-1, 5}));
  }

  TEST_CASE("a refused prepare leaves nothing prepared") {
    TestDevice device;
    Session session(device);
    student = [](const Arguments&) {};
    json prepare = call_of({matrix("y", 1, 4, 4, "output")});
    prepare["op"] = "prepare";
    prepare["sets"] = 1;
    const json sample = {{"op", "sample"}, {"count", 1}, {"warmup", 0}};
    REQUIRE(session.answer({prepare, {}}).body.at("op") == "prepared");
    CHECK(session.answer({sample, {}}).body.at("op") == "sampled");
    prepare["sets"] = 0;
    CHECK(session.answer({prepare, {}}).body.at("op") == "refused");
    CHECK(session.answer({sample, {}}).body.at("op") == "refused");
  }
}

}  // namespace

onepass::worker::FunctionTable onepass::worker::bound_functions() {
  static constexpr Function table[] = {{"student", "fp32", call_student}};
  return {table, 1};
}
