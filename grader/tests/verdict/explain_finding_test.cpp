// What a finding means depends on the call: on its strides, and on how many rows a block does.
#include <doctest/doctest.h>

#include "simulator/host_call_findings.h"
#include "verdict/contract/call.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/judge.h"
#include "verdict/traffic.h"

using namespace onepass::verdict;

namespace {

const contract::Function kFunction = {
    "f",
    {{"rows"}, {"cols"}},
    {{"x", Role::input, "rows", "cols", {.strided = true}},
     {"y", Role::output, "rows", "cols"},
     {"partial", Role::output, 1, 1, {.scratch = [](const contract::Sizes&) {
        return std::int64_t{10};
      }}}}};

/// x: three rows of 65, `stride` apart.
Case strided(std::int64_t stride) {
  return contract::call(kFunction, Dtype::fp16, {.values = {{"x", Matrix(Dtype::fp16, 3, 65)}}},
                        {{"x", {.gap = stride - 65}}});
}

Finding access(Kind kind, std::int64_t index, unsigned block) {
  Finding finding;
  finding.kind = kind;
  finding.buffer = "x";
  finding.index = index;
  finding.parties = {{"reads 2 bytes", "f.cu", 7, {}, {block, 0, 0}, 0, 0}};
  return finding;
}

Finding race(const std::string& first, int first_line, const std::string& second, int second_line) {
  Finding finding;
  finding.kind = Kind::shared_race;
  finding.kernel = "k";
  finding.parties = {{first, "f.cu", first_line, {}, {}, 0, 0},
                     {second, "f.cu", second_line, {}, {}, 1, 0}};
  finding.missing = Missing::barrier;
  return finding;
}

std::optional<std::string> named_if(const GoesWell& goes_well, const Case& call,
                                    const Finding& finding, unsigned blocks = 3) {
  Run run;
  run.findings = {finding};
  run.traffic = {{"k", {blocks, 1, 1}, {64, 1, 1}}};
  return explain_finding(call, run, finding, goes_well).mistake;
}

std::optional<std::string> named(const Case& call, const Finding& finding, unsigned blocks = 3,
                                 bool twin_goes_well = true) {
  return named_if([&](const Case&) { return twin_goes_well; }, call, finding, blocks);
}

bool is_dense(const Case& call) {
  return !call.is_strided("x");
}

}  // namespace

TEST_CASE(
    "outside of a tensor or between rows: the stride was ignored, if without gaps all is right") {
  for (const Kind kind : {Kind::uninitialised_global, Kind::out_of_bounds_global}) {
    CHECK(named(strided(81), access(kind, 70, 1)) == "stride-ignored");
    CHECK(named(strided(81), access(kind, 70, 1), 3, false) == "no-tail-mask");
    // Rows of 65 are not aligned without gaps, and may be read in another way: block 0 may have run
    // past the end of row 0.
    CHECK(named_if(is_dense, strided(80), access(kind, 70, 0)) == std::nullopt);
    CHECK(named_if(is_dense, strided(80), access(kind, 70, 1)) == "stride-ignored");
    CHECK(named_if(is_dense, strided(80), access(kind, 150, 0)) == "stride-ignored");
    // Where rows of 64 that are as far apart go well, the stride is heeded.
    CHECK(named(strided(80), access(kind, 70, 1)) == "no-tail-mask");
  }
  CHECK(named(strided(65), access(Kind::out_of_bounds_global, 195, 2)) == "no-tail-mask");
  CHECK(named(strided(65), access(Kind::uninitialised_global, 3, 1)) == "accumulated-into-garbage");
}

TEST_CASE("a row found by another tensor's stride: with one stride for all it goes well") {
  const contract::Function two = {"f",
                                  {{"rows"}, {"a"}, {"b"}},
                                  {{"x", Role::input, "rows", "a", {.strided = true}},
                                   {"y", Role::output, "rows", "b", {.strided = true}}}};
  const Case call = contract::call(
      two, Dtype::fp32, {.values = {{"x", Matrix(Dtype::fp32, 3, 8)}}, .sizes = {{"b", 5}}});
  const std::optional<Case> one = contract::with_one_stride(call);
  REQUIRE(one);
  CHECK(one->integer("y_stride") == 8);
  CHECK(one->buffer("y").stride() == 8);
  CHECK_FALSE(contract::with_one_stride(*one));
  CHECK(named(call, access(Kind::out_of_bounds_global, 26, 2)) == "stride-ignored");
  CHECK(named(call, access(Kind::out_of_bounds_global, 26, 2), 3, false) == "no-tail-mask");
}

TEST_CASE("far from a buffer whose offsets do not fit an int: overflow") {
  const Case far = strided((std::int64_t{1} << 30) + 8);
  CHECK(first_far_row(far) == 2);
  CHECK_FALSE(first_far_row(strided(80)));
  for (const Kind kind : {Kind::out_of_bounds_global, Kind::host_pointer, Kind::use_after_free}) {
    CHECK(named(far, access(kind, -1, 2)) == "index-overflow");
    CHECK_FALSE(named(strided(80), access(kind, -1, 0)) == "index-overflow");
  }
  // One past the last row's end is no overflow.
  CHECK_FALSE(named(far, access(Kind::out_of_bounds_global, (std::int64_t{1} << 31) + 81, 0)) ==
              "index-overflow");
}

TEST_CASE("a barrier that not all reach is told before what follows from it") {
  Finding race_first = race("reads 4 bytes", 1, "writes 4 bytes", 2);
  Finding barrier;
  barrier.kind = Kind::barrier_divergence;
  const std::vector<Finding> findings = {race_first, barrier};
  CHECK(telling_error(findings)->kind == Kind::barrier_divergence);
  CHECK(telling_error({}) == nullptr);
}

TEST_CASE("what a launcher does beside its launches is told after all errors of kernels") {
  Finding stream, wait, warning = race("reads 4 bytes", 1, "writes 4 bytes", 2);
  stream.kind = Kind::other_stream;
  wait.kind = Kind::host_waits;
  warning.warning = true;
  const Finding error = race("reads 4 bytes", 3, "writes 4 bytes", 4);
  CHECK(telling_error({wait, stream, error})->kind == Kind::shared_race);
  CHECK(telling_error({wait, warning, stream})->kind == Kind::other_stream);
  CHECK(telling_error({warning, wait})->kind == Kind::host_waits);
  CHECK(telling_error({warning}) == nullptr);
}

TEST_CASE("no threads are told of where host code goes wrong") {
  Finding finding;
  finding.message = "cudaFree() makes the host wait.";
  finding.kind = Kind::host_waits;
  finding.parties = {{"waits for the device", "f.cu", 7, {}, {}, 0, 0, true}};
  CHECK(account_of(finding) == finding.message);
  CHECK(location_of(finding) == "f.cu:7");
  CHECK(sentence_of(finding.parties[0]) == "f.cu:7: host code waits for the device");
}

TEST_CASE("a helper's line comes with the kernel's line that called it") {
  Finding finding;
  finding.parties = {{"reads 2 bytes", "f.cu", 7, {}, {}, 0, 0}};
  finding.parties[0].called_from = 19;
  CHECK(sentence_of(finding.parties[0]) ==
        "f.cu:7 (called from 19): thread 0 (warp 0, lane 0) of block 0 reads 2 bytes");
  CHECK(location_of(finding) == "f.cu:7");
}

TEST_CASE("of a given header its line is told, and the student's that led there is the place") {
  Finding finding;
  finding.kind = Kind::shared_race;
  finding.parties = {{"reads 4 bytes", "onepass/fast.h", 57, {}, {}, 0, 0},
                     {"writes 4 bytes", "onepass/fast.h", 52, {}, {}, 0, 0}};
  for (Party& party : finding.parties) {
    party.caller_file = "exercises/01_rmsnorm/forward.cu";
    party.called_from = 88;
  }
  CHECK(sentence_of(finding.parties[0]) ==
        "onepass/fast.h:57 (called from forward.cu:88): thread 0 (warp 0, lane 0) of block 0 reads "
        "4 bytes");
  CHECK(location_of(finding) == "exercises/01_rmsnorm/forward.cu:88");
  LineTraffic traffic;
  traffic.file = "onepass/fast.h";
  traffic.line = 57;
  CHECK(location_of(traffic) == "onepass/fast.h:57");
  traffic.caller_file = "exercises/01_rmsnorm/forward.cu";
  traffic.called_from = 88;
  CHECK(location_of(traffic) == "exercises/01_rmsnorm/forward.cu:88");
  const std::string given =
      "onepass/fast.h is given, and right if it is called as its comments say: look at line 88, at "
      "what it hands over, at which threads come there, and at what has to come before.";
  CHECK(sentence_of(finding) == account_of(finding) + "\n" + given);
  finding.parties[1].called_from = 95;  // two calls of theirs can be put in order
  CHECK(sentence_of(finding) == account_of(finding) + "\nPut a __syncthreads() between the two.");
  // A line of theirs beside one of the header's.
  finding.parties[1] = {"writes 4 bytes", "exercises/01_rmsnorm/forward.cu", 90, {}, {}, 0, 0};
  CHECK(sentence_of(finding) == account_of(finding) + "\nPut a __syncthreads() between the two.");
}

TEST_CASE("a slot overwritten while it is read: by the next row, or by a second use") {
  const Case call = strided(65);
  Finding back = race("reads 4 bytes", 40, "writes 4 bytes", 30);
  CHECK(named(call, back, 2) == "missing-barrier");  // of what was to be read
  back.writes_again = true;
  CHECK(named(call, back, 2) == "row-loop-race");
  CHECK(named(call, back, 3) == "reused-buffer-race");  // a block a row: no loop over rows
  CHECK(named(call, race("reads 4 bytes", 40, "writes 4 bytes", 50), 2) == "reused-buffer-race");
  Finding tree = race("reads 4 bytes", 40, "writes 4 bytes", 40);
  CHECK(named(call, tree, 2) == "missing-barrier");
  tree.writes_again = true;  // in a helper of which a row has one call
  CHECK(named(call, tree, 2) == "row-loop-race");
  Finding called = back;  // of a helper, behind another one
  called.parties[0].called_from = 60;
  called.parties[1].called_from = 80;
  CHECK(named(call, called, 2) == "reused-buffer-race");
  CHECK(named(call, race("writes 4 bytes", 30, "reads 4 bytes", 40)) == "missing-barrier");
  CHECK(named(call, race("reads 4 bytes that nobody has written", 40, "writes 4 bytes", 30)) ==
        "missing-barrier");
}

TEST_CASE("a race in global memory: an update lost, in place, or nothing that orders the two") {
  Case call = strided(65);
  call.add({.name = "z", .role = Role::in_place, .dtype = Dtype::fp16, .rows = 3, .cols = 65});
  Finding finding = race("writes 4 bytes", 30, "reads 4 bytes", 30);
  finding.kind = Kind::global_race;
  finding.buffer = "y";
  CHECK(named(call, finding) == "lost-updates");
  finding.parties[1].line = 40;
  CHECK(named(call, finding) == "missing-barrier");
  finding.parties[1].block = {1, 0, 0};
  finding.missing = Missing::order;
  CHECK(named(call, finding) == "unordered-blocks");
  call.add({.name = "v", .role = Role::in_place, .dtype = Dtype::fp32, .rows = 3, .cols = 1});
  finding.buffer = "v";  // a number a row has no partner
  CHECK(named(call, finding) == "unordered-blocks");
  finding.buffer = "z";
  CHECK(named(call, finding) == "in-place-race");
  // Who reads what it has no business with mostly writes it, too.
  Run run;
  run.findings = {finding, finding};
  run.findings[1].parties[1].action = "writes 4 bytes";
  const auto nobody = [](const Case&) { return false; };
  CHECK(explain_finding(call, run, finding, nobody).mistake == std::nullopt);
  run.findings[1].habit = simulator::Habit::same_value;
  CHECK(explain_finding(call, run, finding, nobody).mistake == "in-place-race");
  run.findings[1].habit = simulator::Habit::none;
  run.findings[1].buffer = "y";
  CHECK(explain_finding(call, run, finding, nobody).mistake == "in-place-race");
}

TEST_CASE("who leaves a tensor is told that, and not of the race that the same index makes") {
  Finding of_index = race("writes 4 bytes", 30, "reads 4 bytes", 40);
  of_index.kind = Kind::global_race;
  const Finding outside = access(Kind::out_of_bounds_global, 195, 2);
  CHECK(telling_error({of_index, outside})->kind == Kind::out_of_bounds_global);
  CHECK(telling_error({race("writes 4 bytes", 30, "reads 4 bytes", 40), outside})->kind ==
        Kind::shared_race);  // whose number may be what led outside
  Finding unwritten = access(Kind::uninitialised_global, 3, 0);
  unwritten.kernel = outside.kernel;
  CHECK(telling_error({unwritten, outside})->kind == Kind::out_of_bounds_global);
  unwritten.kernel = "another";
  CHECK(telling_error({unwritten, outside})->kind == Kind::uninitialised_global);
}

TEST_CASE("a race is advised about by what it lacks") {
  Finding finding = race("writes 4 bytes", 30, "reads 4 bytes", 40);
  CHECK(mistake_of(finding) == "missing-barrier");
  CHECK(sentence_of(finding).find("Put a __syncthreads() between the two.") != std::string::npos);
  finding.missing = Missing::syncwarp;
  CHECK(mistake_of(finding) == "missing-syncwarp");
  CHECK(sentence_of(finding).find("__syncwarp() of both lanes") != std::string::npos);
  finding.kind = Kind::global_race;
  finding.parties[1].line = 30;  // as if an update were lost
  finding.parties[1].block = {1, 0, 0};
  finding.missing = Missing::fence;
  CHECK(named(strided(65), finding) == "missing-fence");
  CHECK(sentence_of(finding).find("call __threadfence()") != std::string::npos);
  finding.missing = Missing::barrier;
  CHECK(named(strided(65), finding) == "missing-barrier");
  CHECK(sentence_of(finding).find("Blocks run in no order") == std::string::npos);
}

TEST_CASE("who writes to one place and differs in threadIdx.y alone lacks it in an index") {
  Finding finding = race("writes 4 bytes", 30, "writes 4 bytes", 30);
  finding.parties[1].thread = {0, 1, 0};
  CHECK(mistake_of(finding) == "lost-updates");
  CHECK(sentence_of(finding).find("threadIdx.y belongs in the index") != std::string::npos);
  finding.warning = true;
  CHECK(telling_warning({finding}) != nullptr);
  finding.parties[1].thread = {32, 0, 0};
  CHECK(mistake_of(finding) == "missing-barrier");
  CHECK(telling_warning({finding}) == nullptr);
  finding.parties[1].thread = {0, 1, 0};
  finding.parties[1].action = "reads 4 bytes";  // as in a tree without barriers
  CHECK(mistake_of(finding) == "missing-barrier");
  finding.parties[1].action = "writes 4 bytes";
  finding.habit = simulator::Habit::same_value;
  CHECK(sentence_of(finding).find("One of them is enough") != std::string::npos);
  CHECK(mistake_of(finding) != "lost-updates");
}

TEST_CASE("advice calls the columns what the function does") {
  CHECK(stride_advice(strided(80), "x").find("not with cols or") != std::string::npos);
  CHECK(stride_advice(strided(80), "x").find("without gaps") != std::string::npos);
  CHECK(stride_advice(strided(65), "x").find("without gaps") == std::string::npos);
}

TEST_CASE("two who write to one element at one line: no barrier helps, one is at a wrong place") {
  Finding finding = race("writes 4 bytes", 30, "writes 4 bytes", 30);
  finding.kind = Kind::global_race;
  finding.missing = Missing::syncwarp;
  finding.warning = true;
  finding.buffer = "x";
  const auto tells_index = [&] {
    return sentence_on_warning(strided(65), finding).find("index of the other") !=
           std::string::npos;
  };
  CHECK(tells_index());
  finding.habit = simulator::Habit::same_value;
  CHECK(!tells_index());
  finding.habit = simulator::Habit::none;
  finding.parties[0].action = "reads 4 bytes";  // and a shuffle between
  CHECK(!tells_index());
  finding.parties[0].action = "writes 4 bytes";
  finding.buffer = "slots";
  CHECK(!tells_index());
  const auto tells_one = [&] {
    return sentence_on_warning(strided(65), finding).find("Let one thread write it:") !=
           std::string::npos;
  };
  CHECK(tells_one());
  finding.parties[1].block = {1, 0, 0};
  CHECK(!tells_one());
}

TEST_CASE("scratch that nobody has written: nor should it be, if whole blocks are right") {
  Finding finding = access(Kind::uninitialised_global, 3, 0);
  finding.buffer = "partial";
  CHECK(named(strided(65), finding, 3, false) != "no-tail-mask");
  const auto whole = [](const Case& call) { return call.integer("cols") == 256; };
  Run run;
  run.findings = {finding};
  CHECK(explain_finding(strided(65), run, finding, whole).mistake == "no-tail-mask");
}

TEST_CASE("past the end of scratch: too many groups") {
  Finding finding = access(Kind::out_of_bounds_global, 10, 0);
  finding.buffer = "partial";
  CHECK(named(strided(65), finding) == "scratch-overrun");
}

TEST_CASE("a shared array indexed by column is too small for a row") {
  const Case wide =
      contract::call(kFunction, Dtype::fp16, {.values = {{"x", Matrix(Dtype::fp16, 3, 8193)}}}, {});
  CHECK(named(wide, access(Kind::out_of_bounds_shared, 8192, 0)) == "shared-row-too-big");
  CHECK(named(wide, access(Kind::out_of_bounds_shared, 4, 0)) == "shared-too-small");
  CHECK(named(strided(65), access(Kind::out_of_bounds_shared, 8192, 0)) == "shared-too-small");
}

TEST_CASE("an index outside a shared array: too few slots, or a thread that has none") {
  Finding finding = access(Kind::out_of_bounds_shared, 8, 0);
  finding.buffer = "partial";
  finding.parties = {{"indexes an array", "f.cu", 7, {256}, {}, 8, 0}};
  const auto says = [&](const char* words) {
    return sentence_of(finding).find(words) != std::string::npos;
  };
  CHECK(says("give partial a slot for each warp"));
  finding.parties[0].warp = 0;
  finding.parties[0].lane = 8;
  CHECK(says("Either partial needs a slot for this index too, or this thread has no slot"));
  CHECK(says("the number of its lane"));
  finding.parties[0].lane = 9;
  CHECK(says("Either partial needs"));
  CHECK(!says("the number of its lane"));
  finding.index = -1;
  CHECK(says("Look at how the index is computed"));
  finding.buffer = "";  // a block that the cluster does not have
  CHECK(!says("slot"));
}

TEST_CASE("slots that are empty because their threads returned") {
  Finding returned;
  returned.kind = Kind::early_return;
  returned.warning = true;
  const Finding empty = access(Kind::uninitialised_shared, 1, 0);
  Run run;
  run.findings = {empty, returned};
  CHECK(explain_finding(strided(65), run, empty, kNobodyAsked).mistake == "early-return-barrier");
  CHECK(named(strided(65), empty) == "uninitialised-shared");
}

TEST_CASE("the memory that a call needs counts the gaps between its rows") {
  CHECK(strided(80).span_bytes() == 2 * (2 * 80 + 65) + 2 * 3 * 65 + 2 * 10);
  CHECK(strided((std::int64_t{1} << 30) + 8).span_bytes() > (std::int64_t{1} << 32));
}

TEST_CASE("a copy that CUDA refuses is no launch, whatever else the launcher did") {
  Run run;
  run.outcome = Outcome::launch_error;
  run.error = "cudaErrorInvalidValue: invalid argument";
  const auto told = [&] {
    return judge_ending(strided(65), run, [](const Case&) { return false; })->message;
  };
  CHECK(told().find("The kernel was never started") != std::string::npos);
  run.findings = {simulator::host_waiting("cudaMemcpy()"),
                  simulator::refused_copy("cudaMemcpy()", run.error)};
  CHECK(told() ==
        "cudaMemcpy() returns cudaErrorInvalidValue: invalid argument\n"
        "Nothing was copied: look at the pointers, the direction, and the sizes, all in bytes.");
}

TEST_CASE("a warning that is the reason for wrong numbers tells who took part, and who called") {
  const Case call = strided(65);
  Matrix got(Dtype::fp16, 3, 65);
  got.set(0, 0, NAN);
  const Answer answer = {{{"y", got}}};
  const Expectation right = {"y", Field(3, 65), Field(3, 65, 1.0)};
  const Comparison comparison = compare(got, right.value, right.bound, std::nullopt);
  Finding finding;
  finding.kind = Kind::early_return;
  finding.warning = true;
  finding.message = "It reads a lane.";
  finding.parties = {{"reads lane 2", "f.cu", 7, {}, {}, 0, 0, false, 19}};
  const Failure failure = wrong_numbers(
      {call, answer, right, comparison}, {}, finding, [](const Case&) { return false; },
      [] { return std::nullopt; });
  CHECK(failure.mistake == "early-return-barrier");
  CHECK(failure.message.find("It reads a lane.\n  f.cu:7 (called from 19): thread 0") !=
        std::string::npos);
}
