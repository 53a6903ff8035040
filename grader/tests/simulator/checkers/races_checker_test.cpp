#include <doctest/doctest.h>

#include "events_of.h"
#include "races/races.h"

namespace {

using namespace simulator;

struct RaceScene : Scene {
  RaceMemory shadow;
  RaceChecker races{launch, memory, shadow, findings};

  RaceScene() {
    shadow.device.allocated(*x);
    begin_block(races, 0);
  }
  void write(unsigned thread, unsigned index, CodeAddress site) {
    access_x(*this, thread, AccessType::write, index, site, [&](auto event) { races.on(event); });
  }
  void read(unsigned thread, unsigned index, CodeAddress site) {
    access_x(*this, thread, AccessType::read, index, site, [&](auto event) { races.on(event); });
  }
  void atomic(unsigned thread, unsigned index, CodeAddress site) {
    races.on(Synchronisation{thread, x->begin + 4 * index, site});
    access_x(
        *this, thread, AccessType::atomic, index, site, [&](auto event) { races.on(event); }, true);
  }
};

}  // namespace

TEST_CASE("races: a write and a read of two threads, with and without a barrier between") {
  RaceScene scene;
  const CodeAddress writes = here();
  const CodeAddress reads = here();
  scene.write(0, 5, writes);
  scene.read(0, 5, reads);  // its own
  scene.read(1, 6, reads);  // another element
  scene.races.on(BarrierMet{});
  scene.read(1, 5, reads);
  CHECK(scene.found().empty());
  scene.write(2, 5, writes);
  const std::vector<Finding> findings = scene.findings.take();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == Kind::global_race);
  CHECK(findings[0].message.find("x[5] is read and written") == 0);
  REQUIRE(findings[0].parties.size() == 2);
  CHECK(findings[0].parties[0].thread.x == 1);
  CHECK(findings[0].parties[1].thread.x == 2);
  CHECK(findings[0].parties[0].line != findings[0].parties[1].line);
}

TEST_CASE("races: __syncwarp() orders the lanes that take part, a shuffle none") {
  RaceScene scene;
  const CodeAddress writes = here();
  const CodeAddress reads = here();
  scene.write(0, 5, writes);
  scene.races.on(SyncwarpMet{0, 3});
  scene.read(1, 5, reads);
  CHECK(scene.found().empty());
  scene.write(3, 7, writes);
  scene.races.on(WarpCall{3, WarpOperation::shuffle, ~0u, 32, here()});
  scene.read(2, 7, reads);
  CHECK(scene.found() == Kinds{"global-race"});
}

TEST_CASE("races: fence and atomic order two blocks, an atomic alone does not") {
  for (const bool with_fence : {true, false}) {
    RaceScene scene;
    scene.write(0, 5, here());
    if (with_fence) scene.races.on(Fence{0});
    scene.atomic(0, 100, here());
    begin_block(scene.races, 1);
    scene.atomic(0, 100, here());
    scene.read(0, 5, here());
    CHECK(scene.found() == (with_fence ? Kinds{} : Kinds{"global-race"}));
  }
}

TEST_CASE("races: a fence of the own block tells no other") {
  for (const bool for_all : {true, false}) {
    RaceScene scene;
    scene.write(0, 5, here());
    scene.races.on(Fence{0, for_all});
    scene.atomic(0, 100, here());
    begin_block(scene.races, 1);
    scene.atomic(0, 100, here());
    scene.read(0, 5, here());
    CHECK(scene.found() == (for_all ? Kinds{} : Kinds{"global-race"}));
  }
}

TEST_CASE("races: a fence and an atomic tell of other threads what came before a barrier") {
  const CodeAddress writes = here(), counts = here(), reads = here();
  for (const bool with_barrier : {true, false}) {
    RaceScene scene;
    scene.write(40, 5, writes);
    if (with_barrier) scene.races.on(BarrierMet{});
    scene.races.on(Fence{0});
    scene.atomic(0, 100, counts);
    begin_block(scene.races, 1);
    scene.atomic(0, 100, counts);
    scene.read(0, 5, reads);
    const std::vector<Finding> findings = scene.findings.take();
    CHECK(findings.empty() == with_barrier);
    if (!with_barrier) CHECK(findings.at(0).missing == Missing::barrier);
  }
}

TEST_CASE("races: who has fenced before a barrier tells all it did, and no other's") {
  for (const unsigned fencing : {40u, 0u}) {
    RaceScene scene;
    scene.write(40, 5, here());
    scene.races.on(Fence{fencing});
    scene.races.on(BarrierMet{});
    scene.atomic(0, 100, here());
    begin_block(scene.races, 1);
    scene.atomic(0, 100, here());
    scene.read(0, 5, here());
    const std::vector<Finding> findings = scene.findings.take();
    CHECK(findings.empty() == (fencing == 40));
    if (fencing == 0) CHECK(findings.at(0).missing == Missing::fence);
  }
}

TEST_CASE("races: what one thread learns by an atomic the others know after a barrier") {
  for (const bool with_barrier : {true, false}) {
    RaceScene scene;
    scene.write(0, 5, here());
    scene.races.on(Fence{0});
    scene.atomic(0, 100, here());
    begin_block(scene.races, 1);
    scene.atomic(0, 100, here());
    if (with_barrier) scene.races.on(BarrierMet{});
    scene.read(1, 5, here());
    const std::vector<Finding> findings = scene.findings.take();
    CHECK(findings.empty() == with_barrier);
    if (!with_barrier) CHECK(findings.at(0).missing == Missing::barrier);
  }
}

TEST_CASE("races: a __syncwarp() hands on fences, and what an atomic told") {
  RaceScene scene;
  scene.write(3, 5, here());
  scene.races.on(Fence{3});
  scene.races.on(SyncwarpMet{0, ~0u});
  scene.atomic(0, 100, here());
  begin_block(scene.races, 1);
  scene.atomic(0, 100, here());
  scene.races.on(SyncwarpMet{0, ~0u});
  scene.read(7, 5, here());
  CHECK(scene.found().empty());
  scene.read(32, 5, here());  // of another warp
  CHECK(scene.found() == Kinds{"global-race"});
}

TEST_CASE("races: what an earlier launch did is past") {
  RaceScene scene;
  scene.write(0, 5, here());
  RaceChecker next(scene.launch, scene.memory, scene.shadow, scene.findings);
  begin_block(next, 0);
  access_x(scene, 9, AccessType::read, 5, here(), [&](auto event) { next.on(event); });
  CHECK(scene.found().empty());
}
