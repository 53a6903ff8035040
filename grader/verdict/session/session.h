// Session: what the checks of one exercise share. It runs cases in the student's worker, looks at
// the answers, and ends a check at its first failure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "verdict/case.h"
#include "verdict/compare.h"
#include "verdict/diagnosis.h"
#include "verdict/session/experiments.h"
#include "verdict/session/failure.h"
#include "verdict/session/speed.h"
#include "verdict/values/random.h"
#include "verdict/worker/finding.h"

namespace onepass::verdict {

class WorkerClient;
struct Measurement;  // chapter.h
struct Run;
struct Traffic;
struct Turn;
/// ", on a GPU of 10 multiprocessors"; empty for the usual one. (other_device.cpp)
std::string text_of(const wire::OtherDevice& device);
using GoesWell = std::function<bool(const Case&)>;  // explain_finding.h

class Session {
 public:
  struct Settings {
    std::string exercise;   // "rmsnorm/forward"
    std::string worker;     // path of the worker that holds the student's code
    std::string reference;  // of one that is trusted, to probe the machine; may be empty
    std::string device;     // "cpu" or "gpu"
    std::uint64_t seed = 0;
    const Measurement* measurement = nullptr;  // the exercise's: it outlives the session
    double time_limit = 4.0;                   // seconds for one launch, see time_limit()
    double check_limit = 200.0;                // seconds by the clock for all calls of a check
    std::function<void()> on_call;             // before each call; may be empty
  };
  explicit Session(Settings settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& device() const { return settings_.device; }
  std::uint64_t seed() const { return settings_.seed; }
  /// Random numbers of the running check: the same for the same seed, exercise and check.
  Random random() const;

  /// Runs a case and returns what came back. Ends the check if the call did not come to its end, if
  /// a launch failed, if the simulator found an error, if an input was modified or memory around a
  /// buffer touched; then compares these outputs. Others are not looked at, so that a check need
  /// not depend on a later TODO. The first output that is wrong ends the check. `oracles`: the
  /// exercise's mistakes, for the diagnosis. A case that this GPU has no memory for is left out,
  /// with a warning that says so; the answer is then empty.
  ///
  /// On the simulator, calls of a check that follow one another run the blocks of a launch in other
  /// orders. What fails is tried again in a fresh worker, and with block 0 first; if it does not
  /// fail there, what earlier calls left behind, or the order, is the reason that is told.
  Answer expect(const Case& call, const Outputs& outputs, const std::vector<Oracle>& oracles = {});

  /// While it lives, the simulator runs some blocks of each launch, spread over its grid, the first
  /// and the last among them, and expect() does not look at an element that none of them has
  /// written. Numbers that seem wrong so are tried again in full. It returns nothing.
  enum class Sample {
    none,
    of_wide,  // rows so wide that the launches that work by columns have hundreds of blocks
    of_many,  // a few blocks, of calls with more threads than the simulator runs in moments; if
              // those that seem wrong take too long in full, they are left out, with a warning
  };
  /// in_full: if it is false, only where that takes moments; nothing is said of what is left out.
  struct Sampling {
    Sampling(Session& session, Sample sample, bool in_full = true);
    ~Sampling();
    Sampling(const Sampling&) = delete;
    Sampling& operator=(const Sampling&) = delete;

   private:
    Session& session_;
  };

  /// While it lives, the simulator's device is another one.
  struct OnOtherDevice {
    OnOtherDevice(Session& session, const wire::OtherDevice& device);
    ~OnOtherDevice();
    OnOtherDevice(const OnOtherDevice&) = delete;
    OnOtherDevice& operator=(const OnOtherDevice&) = delete;

   private:
    Session& session_;
  };
  /// One of few multiprocessors. Blocks that fill it, and go from row to row, come to many rows
  /// each though there are few in all.
  struct FewMultiprocessors : OnOtherDevice {
    explicit FewMultiprocessors(Session& session);
  };
  /// One of few multiprocessors and of another compute capability, such as 75 for 7.5, with other
  /// limits to what can be launched.
  struct OtherGeneration : OnOtherDevice {
    OtherGeneration(Session& session, int capability);
  };
  /// Those of the device, as far as it tells.
  int multiprocessors();

  /// How many rows lie from one that has numbers to the next: more than an int can count; such
  /// that one can; few.
  struct Apart {
    std::int64_t far, below, near;
  };
  /// Calls that have the numbers of `few`, in rows that lie so far apart among a great many others
  /// (contract::spread). On the simulator a few blocks run. What they do wrong ends the check, and
  /// so do results that are right near and wrong far. lost_bits: what it is if it seems to be more
  /// than an int can count, if not index-overflow.
  void expect_far(const Case& few, const std::function<Case(std::int64_t apart)>& spread,
                  const Apart& apart, const Outputs& outputs,
                  const std::optional<Diagnosis>& lost_bits = {});

  /// While it lives, expect() makes each call a second time, together with the one before it: the
  /// work of both may run at the same time, on two streams. Right alone, they must be so together.
  /// in_pairs: each two calls are made together at once, and alone only if they are not right so:
  /// for calls that other checks make alone. expect() has no answer then.
  struct SideBySide {
    explicit SideBySide(Session& session, bool in_pairs = false);
    ~SideBySide();
    SideBySide(const SideBySide&) = delete;
    SideBySide& operator=(const SideBySide&) = delete;

   private:
    Session& session_;
  };

  /// A call so large that nobody looks at its numbers. On the simulator a few blocks run: what they
  /// do wrong ends the check. What takes more than moments says nothing.
  void expect_in_bounds(const Case& call);

  /// Whoever calls a launcher whose launches are refused finds the error. On a device that can
  /// refuse them.
  void expect_error_left(const Case& call);

  /// What such a call launches, or wants to; none of it runs, and the same call is not made again.
  /// Nothing on a GPU. A call that goes wrong even so ends the check; on another device only one
  /// that crashes.
  using Launches = std::vector<wire::Launch>;
  const Launches& launches_of(const Case& call);
  /// Asks for several calls of one function and type at once, which costs less.
  void ask(const std::vector<Case>& calls);

  /// Of such a call: how much of a row of that tensor, of so many elements, the first block of a
  /// launch reads that reads of no other row; the most. 0 on a GPU, which does not tell.
  double share_of_first_block(const Case& call, const std::string& tensor, std::int64_t row);
  /// How many blocks of a launch read that tensor, of those launches that read half as much as any
  /// or more; the fewest. Of one with more than some thousand requests, how many blocks it has.
  /// Nothing if none reads it, or on a GPU.
  std::optional<std::int64_t> fewest_blocks_that_read(const Case& call, const std::string& tensor);

  /// expect() of a call with nothing to do: ends the check if an output's first element was
  /// written. `sentence` has {} where that element is named: "The tensor is empty, yet {} was
  /// written."
  void expect_untouched(const Case& call, const std::string& sentence);

  /// expect(), and what that call asked of memory. Nothing on a GPU, which does not count it.
  std::optional<Traffic> expect_and_count(const Case& call, const Outputs& outputs,
                                          const std::vector<Oracle>& oracles = {});

  /// How fast the exercise's own call is, measured once. Ends the check if the call goes wrong.
  /// Nothing, with a warning, where this GPU has no memory for it.
  const std::optional<Speed>& speed();
  /// The check has its points only if no kernel of that call spills, for all that nvcc knows: where
  /// the simulator grades. On a GPU the time has it.
  void forbid_spills();

  /// The comparison of expect() alone, on an answer from it.
  void compare(const Case& call, const Answer& answer, const Outputs& outputs,
               const std::vector<Oracle>& oracles = {});

  /// Ends the check with a failure of the chapter's own making, such as results that differ between
  /// two identical calls. `call` and what the code printed are added.
  [[noreturn]] void fail(const Case& call, Failure failure);

  // ---- for the glue (run_checks.cpp), not for checks ----

  /// While it lives, the session is that of the check that runs.
  struct Running {
    explicit Running(Session& session);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };

  /// What a launch asks of a GPU's multiprocessors, as far as the simulator knows it.
  struct Launched {
    std::string function, written;  // the kernel, see simulator::LaunchTraffic
    std::uint64_t threads = 0;      // of a block
    std::uint64_t dynamic_shared_bytes = 0;
    bool may_spill = true;  // without costing the check its points: see forbid_spills()

    auto operator<=>(const Launched&) const = default;
  };

  /// What ran of a call of which only some blocks do.
  struct Sampled {
    std::int64_t blocks = 0;        // of the kernel with most of them, in the whole call,
    std::int64_t threads = 0;       // of its grids
    std::int64_t launches = 0;      // and how often it was launched
    std::set<std::string> kernels;  // of all launches, by name
    double written = 0.0;           // bytes a block of those that ran
    bool first_right = true;        // what is written of the first row
    bool later_right = true;        // what is written of other rows
  };

  /// What is known of the running check.
  struct Check {
    std::string name;
    int calls = 0;
    int left_out = 0;                        // cases for which the GPU has too little memory
    std::int64_t compared = 0;               // elements
    std::optional<double> error_over_bound;  // the largest of the fp32 outputs that were right
    bool out_of_patience = false;            // an experiment took too long
    bool wrote = false;                      // some output that was compared, in some call
    std::string output;                      // what the student's code printed
    std::optional<Failure> failure;          // set if it has failed
    std::optional<std::string> fault;        // of the grader, which came in its way
    std::vector<std::string> warnings;       // those that no check before has told
    Sampled sampled;                         // in the last call of which only some blocks ran
    bool launched = true;          // a kernel, in the last call, as far as the device tells
    Threads threads;               // of that call, likewise
    std::set<Launched> launches;   // of all its calls, each once; not more than some hundred
    bool find_causes = true;       // of numbers that are wrong, by experiments
    bool causes_left = false;      // to be found
    std::optional<Finding> doubt;  // of the simulator about the last call: telling_warning()
  };
  void begin_check(const std::string& name);
  /// What comes next has a process of its own, which no call before has touched. Not on a GPU,
  /// where to start one takes long.
  void begin_afresh();
  void note_fault(const std::string& fault) { check_.fault = fault; }
  const Check& check() const { return check_; }
  /// The worker, for measurements after the checks.
  WorkerClient& worker() { return *worker_; }

 private:
  Turn next_turn();
  void change_device(const wire::OtherDevice& device);
  void in_turn(const Case& call, const Turn& turn, const std::function<void(const Turn&)>& look);
  /// Seconds for one launch, see WorkerClient::run(). A function that has come to its end in other
  /// calls may have much to do in this one: it gets more.
  double time_limit(const Turn& turn) const;
  Turn turn_in_bounds();
  bool in_time(const std::function<void()>& work);
  bool can_hold(const Case& call);
  struct FarRows;
  FarRows try_far(const Case& few, const Case& call, const Outputs& outputs);
  void expect_later_turns(const Case& few, const std::function<Case(std::int64_t apart)>& spread,
                          const FarRows& at_near, const Outputs& outputs);
  bool is_right_in_sample(const Case& call, Turn turn, const Outputs& outputs,
                          const Case* numbers = nullptr);
  void look_for_cut_grid(const Case& call, const Outputs& outputs);
  void expect_by_sample(const Case& call, const Outputs& outputs,
                        const std::vector<Oracle>& oracles);
  Answer expect_alone(const Case& call, const Turn& turn, const Outputs& outputs,
                      const std::vector<Oracle>& oracles);
  std::optional<Failure> together(const Case& call, const Case& beside, const Turn& turn,
                                  const Outputs& outputs);
  void expect_side_by_side(const Case& call, const Case& beside, const Outputs& outputs,
                           const std::vector<Oracle>& oracles);
  Speed speed_in_traffic();
  std::optional<Speed> speed_in_time();
  Run timed(const std::function<Run()>& call);
  Run trace(const Case& call, const Turn& turn);
  bool is_out_of_time() const { return seconds_ >= settings_.check_limit; }
  Run attempt(const Case& call, const Turn& turn, bool count_lines, const Case* beside = nullptr);
  void judge(const Case& call, const Run& run, const GoesWell& goes_well);
  Run complete(const Case& call, const Turn& turn, const GoesWell& goes_well,
               bool count_lines = false);
  std::optional<Run> retry(const Case& call);
  void look_for_wider_race(const Case& call, Run& run);
  /// `work` may end the check by what this call shows: then its reason is looked for.
  void give_reasons(const Case& call, const Outputs& outputs, const std::vector<Oracle>& oracles,
                    const std::function<void()>& work);
  void look_past_the_end(const Case& call, const Outputs& outputs,
                         const std::vector<Oracle>& oracles);
  void look_for_matter(const Case& call, const Outputs& outputs);
  std::optional<Answer> try_out(const Case& call);
  GoesWell goes_right(const Outputs& outputs);
  std::optional<Diagnosis> explain_parts(const WrongOutput& wrong,
                                         const std::function<Expectation(const Case&)>& expected,
                                         const Threads& threads);
  void drop_doubt(const Case& call, const std::function<Expectation(const Case&)>& expected);
  bool machine_is_sound() const;
  void settle_refusal(const std::function<Run(WorkerClient&)>& ask, Run& run) const;
  bool fits(const Case& call);
  std::string name_of(const Case& call) const;

  Settings settings_;
  std::unique_ptr<WorkerClient> worker_;
  Check check_;
  double seconds_ = 0.0;    // that its calls have taken
  bool any_right_ = false;  // did some call write what it should?
  std::set<std::tuple<Kind, simulator::Habit, std::string>> warned_;  // of what, and where
  Sample sample_ = Sample::none;
  bool in_full_ = true;  // if the numbers of a sample are not right, all blocks run, however many
  wire::OtherDevice other_device_;
  bool side_by_side_ = false, in_pairs_ = false;
  std::optional<Case> last_;    // of them
  std::optional<Speed> speed_;  // once it was asked for
  std::set<Launched> launched_for_speed_;
  bool has_ended_ = false;                    // some call, with all of its blocks
  std::map<std::string, Launches> launches_;  // by the call and the device, in words
  std::optional<double> memory_bytes_;        // of the device, once it was asked
};

/// The session of the check that runs. doctest's test cases take no arguments: this is how they,
/// and what they draw their inputs with, get theirs. Throws std::logic_error where no check runs.
Session& session();

}  // namespace onepass::verdict
