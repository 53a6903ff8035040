#include <doctest/doctest.h>

#include "barriers/barriers.h"
#include "bounds/bounds.h"
#include "checkers/checkers.h"
#include "events_of.h"
#include "initialised/initialised.h"
#include "traffic/traffic.h"

namespace {

using namespace simulator;

/// Tells a checker, for the functions of events_of.h.
template <typename Checker>
auto to(Checker& checker) {
  return [&checker](auto event) { return checker.on(event); };
}

}  // namespace

TEST_CASE("uninitialised device memory: a read before and after the write") {
  Scene scene;
  InitialisedMemory bits;
  bits.allocated(*scene.x);
  InitialisedChecker checker(scene.launch, scene.memory, bits, scene.findings);
  begin_block(checker, 0);
  access_x(scene, 0, AccessType::write, 5, here(), to(checker));
  access_x(scene, 1, AccessType::read, 5, here(), to(checker));
  CHECK(scene.found().empty());
  access_x(scene, 1, AccessType::read, 6, here(), to(checker));
  CHECK(scene.found() == Kinds{"uninitialised-global"});
}

TEST_CASE("what the host wrote: reading it is no mistake, and a kernel's write makes it its own") {
  Scene scene;
  InitialisedMemory bits;
  bits.allocated(*scene.x);
  const std::uintptr_t begin = scene.x->begin;
  bits.host_writes.add({begin, begin + 4 * sizeof(float), "cudaMemcpy()", here()});
  InitialisedChecker checker(scene.launch, scene.memory, bits, scene.findings);
  begin_block(checker, 0);
  access_x(scene, 0, AccessType::read, 1, here(), to(checker));
  access_x(scene, 0, AccessType::write, 1, here(), to(checker));
  CHECK(scene.found().empty());
  bits.host_writes.add({begin + 8, begin + 12, "cudaMemset()", here()});  // the third element
  report_host_writes(scene.memory.device, bits, scene.findings);
  CHECK(scene.found() == Kinds{"host-written", "host-written"});  // once a line
}

TEST_CASE("host code is told the same at every call") {
  Findings findings;
  CHECK(findings.is_first(Kind::device_pointer, 1));
  CHECK_FALSE(findings.is_first(Kind::device_pointer, 1));
  findings.take();
  CHECK(findings.is_first(Kind::device_pointer, 1));
}

TEST_CASE("uninitialised shared memory: an early read is told at the barrier, if it is no race") {
  Scene scene;
  InitialisedMemory bits;
  InitialisedChecker checker(scene.launch, scene.memory, bits, scene.findings);
  for (const bool is_race : {true, false}) {
    begin_block(checker, 0);
    const CodeAddress site = here();
    CHECK(access_shared(scene, 1, AccessType::read, 5, site,
                        [&](auto event) { return checker.reads_too_early(event); }));
    checker.hold_back({scene.memory.shared.dynamic_begin() + 20, 4, 1, site, 0, false});
    CHECK(scene.found().empty());
    access_shared(scene, 0, AccessType::write, 5, here(), [&](auto event) {
      checker.on(event);
      checker.settle_early_reads(event.access, [&](const EarlyRead&) { return is_race; });
    });
    CHECK_FALSE(access_shared(scene, 1, AccessType::read, 5, site,
                              [&](auto event) { return checker.reads_too_early(event); }));
    checker.on(BarrierMet{});
    CHECK(scene.found() == (is_race ? Kinds{} : Kinds{"uninitialised-shared"}));
  }
}

TEST_CASE("bounds: inside and aligned, or an error that ends the launch") {
  Scene scene;
  BoundsChecker checker(scene.launch, scene.memory, scene.findings);
  begin_block(checker, 0);
  CHECK(access_x(scene, 0, AccessType::read, 5, here(), to(checker)) == kSuccess);
  CHECK(scene.found().empty());

  const Access past = {scene.x->begin + 4096, 4, 4, AccessType::write, here()};
  CHECK(checker.on(AccessEvent{3, past, {Area::outside_device}}) == kErrorIllegalAddress);
  const std::vector<Finding> findings = scene.findings.take();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == Kind::out_of_bounds_global);
  CHECK(findings[0].message == "Writes x[1024]: 1 element past the end of x.");
  CHECK(findings[0].parties[0].thread.x == 3);

  const Access odd = {scene.x->begin + 2, 4, 4, AccessType::read, here()};
  CHECK(checker.on(AccessEvent{0, odd, {Area::inside, MemorySpace::global, 0, 2}}) ==
        kErrorMisalignedAddress);
  const Access null = {0, 4, 4, AccessType::read, here()};
  CHECK(checker.on(AccessEvent{0, null, {Area::elsewhere}}) == kErrorIllegalAddress);
  CHECK(checker.on(IndexEvent{0, "'float [4]'", 4, here()}) == kErrorIllegalAddress);
  CHECK(scene.found() == Kinds{"misaligned", "null-pointer", "out-of-bounds-local"});
}

TEST_CASE("barriers: all threads at one line, or at two") {
  Scene scene;
  BarrierChecker checker(scene.launch, scene.findings);
  begin_block(checker, 0);
  const CodeAddress one = here();
  const CodeAddress other = here();
  for (unsigned thread = 0; thread < 64; ++thread) checker.on(BarrierWait{thread, one, one});
  checker.on(BarrierMet{});
  CHECK(scene.found().empty());
  for (unsigned thread = 0; thread < 63; ++thread) checker.on(BarrierWait{thread, one, one});
  checker.on(BarrierWait{63, other, other});
  checker.on(BarrierMet{});
  CHECK(scene.found() == Kinds{"barrier-divergence"});
  checker.on(ThreadReturn{63});
  for (unsigned thread = 0; thread < 63; ++thread) checker.on(BarrierWait{thread, one, one});
  checker.on(BarrierMet{});
  CHECK(scene.found() == Kinds{"early-return"});
}

TEST_CASE("barriers: the mask of a warp operation, and who waits when nobody can go on") {
  Scene scene;
  BarrierChecker checker(scene.launch, scene.findings);
  begin_block(checker, 0);
  const WarpCall shuffle = {0, WarpOperation::shuffle_down, ~0u, 32, here()};
  CHECK(checker.on(shuffle) == kSuccess);
  checker.on(LanesGoOn{0, 1});
  CHECK(scene.found().empty());

  CHECK(checker.on(WarpCall{7, WarpOperation::ballot, 0x0f, 32, here()}) == kErrorLaunchFailure);
  CHECK(scene.found() == Kinds{"bad-warp-mask"});
  CHECK(checker.on(WarpCall{0, WarpOperation::shuffle_down, 1, 32, here()}) == kSuccess);
  checker.on(UndefinedSource{0, 5});
  CHECK(scene.found() == Kinds{"inactive-lane-read"});
  checker.on(shuffle);
  checker.on(BarrierWait{1, here(), here()});
  CHECK(checker.on(BlockStuck{}) == kErrorLaunchTimeout);
  CHECK(scene.found() == Kinds{"deadlock"});
}

TEST_CASE("traffic: 32 floats side by side are 4 sectors, of 32 rows 32") {
  for (const unsigned step : {1u, 8u}) {
    Scene scene;
    Traffic checker(scene.memory, true, 0);
    begin_block(checker, 0);
    const CodeAddress site = here();
    for (unsigned lane = 0; lane < 32; ++lane) {
      access_x(scene, lane, AccessType::read, lane * step, site, to(checker));
      checker.on(BarrierWait{lane, site, site});
    }
    LaunchTraffic traffic;
    std::vector<TracedRequest> trace;
    checker.finish(traffic, trace);
    CHECK(traffic.read_bytes == 128);
    REQUIRE(traffic.lines.size() == 1);
    CHECK(traffic.lines[0].requests == 1);
    CHECK(traffic.lines[0].units == 4 * step);
  }
}

TEST_CASE("traffic: a request whose lanes are in two buffers is counted for each of them") {
  Scene scene;
  Allocation* const x = scene.x;
  Allocation* const y = scene.memory.device.allocate(4096, 0, {"y", 4});
  Traffic checker(scene.memory, true, 0);
  begin_block(checker, 0);
  const CodeAddress site = here();
  for (unsigned lane = 0; lane < 32; ++lane) {
    scene.x = lane < 24 ? x : y;
    access_x(scene, lane, AccessType::read, lane, site, to(checker));
    checker.on(BarrierWait{lane, site, site});
  }
  LaunchTraffic traffic;
  std::vector<TracedRequest> trace;
  checker.finish(traffic, trace);
  CHECK(traffic.read_bytes == 128);
  CHECK(traffic.read_sectors == 4);
  REQUIRE(traffic.lines.size() == 2);
  CHECK(traffic.lines[0].buffer == "x");
  CHECK(traffic.lines[0].bytes == 24 * 4);
  CHECK(traffic.lines[0].units == 3);
  CHECK(traffic.lines[1].buffer == "y");
  CHECK(traffic.lines[1].lanes == 8);
  CHECK(traffic.lines[1].units == 1);
}

TEST_CASE("traffic: where no requests are counted, bytes of global memory are") {
  Scene scene;
  Traffic checker(scene.memory, false, 0);
  begin_block(checker, 0);
  for (unsigned lane = 0; lane < 32; ++lane) {
    access_x(scene, lane, AccessType::read, lane, here(), to(checker));
    access_shared(scene, lane, AccessType::write, lane, here(), to(checker));
    checker.on(BarrierWait{lane, here(), here()});
  }
  LaunchTraffic traffic;
  std::vector<TracedRequest> trace;
  checker.finish(traffic, trace);
  CHECK(traffic.read_bytes == 128);
  CHECK(traffic.lines.empty());
}

TEST_CASE("each checker can be left out of a launch") {
  for (const bool with_races : {true, false}) {
    Scene scene;
    ShadowMemory shadow;
    shadow.allocated(*scene.x);
    CheckerSettings settings;
    settings.wanted.races = with_races;
    settings.wanted.traffic = settings.wanted.barriers = false;
    Checkers checkers(scene.launch, settings, scene.memory, shadow, scene.findings);
    const auto tell = [&](auto event) { return checkers.tell(event); };
    checkers.tell(BlockBegin{0, 0, 64});
    access_x(scene, 0, AccessType::write, 5, here(), tell);
    access_x(scene, 1, AccessType::read, 5, here(), tell);
    CHECK(scene.found() == (with_races ? Kinds{"global-race"} : Kinds{}));
    access_x(scene, 1, AccessType::read, 6, here(), tell);
    CHECK(scene.found() == Kinds{"uninitialised-global"});
  }
}
