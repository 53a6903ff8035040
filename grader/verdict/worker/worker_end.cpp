#include "verdict/worker/worker_end.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace onepass::verdict {

namespace {

using process::Clock;
using process::Exit;
using process::Waited;

constexpr double kLoadSeconds = 10.0;
constexpr std::uint64_t kFarTooMuch = std::uint64_t{1} << 30;  // bytes; no honest worker comes near

}  // namespace

Reply failure(Outcome outcome, std::string error) {
  return {{outcome, std::move(error)}, {}};
}

Reply no_answer(double seconds) {
  return failure(Outcome::timed_out, fmt::format("No answer within {:g} seconds.", seconds));
}

Reply nonsense() {
  return failure(Outcome::ended_early,
                 "What came back is no answer. Descriptor 4 belongs to the grader.");
}

process::Program program_of(const std::string& worker, const std::string& device) {
  using process::Pipe;
  process::Program program{
      {worker}, {Pipe::to_program, Pipe::from_program}, kMostOutput, most_tasks(device)};
  program.allowance = allowance_of(worker, device);
  return program;
}

Reply once_more_if_killed(const std::function<Reply()>& ask) {
  Reply reply = ask();
  if (reply.from_outside) {
    reply = ask();
  }
  if (reply.from_outside) {
    reply = failure(
        Outcome::crashed,
        "The program was ended by SIGKILL, and so was a fresh one. The machine may have run "
        "out of memory.");
  }
  return reply;
}

namespace {

Reply describe_exit(const Exit& exit) {
  if (!exit.by_signal) {
    return failure(
        Outcome::ended_early,
        fmt::format("The program called exit({}) before the function returned.", exit.number));
  }
  const char* name = sigabbrev_np(exit.number);
  const std::string signal =
      name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", exit.number);
  if (exit.number != SIGKILL || exit.cpu_seconds >= kCpuSeconds) {
    const char* why = exit.number == SIGFPE ? ", as a division of integers by 0 does" : "";
    return failure(Outcome::crashed, fmt::format("The program was ended by {}{}.", signal, why));
  }
  if (exit.memory >= kFarTooMuch) {
    return failure(Outcome::crashed,
                   fmt::format("The program was ended by {} when it had taken {:.1f} GB of memory: "
                               "the machine had no more.",
                               signal, static_cast<double>(exit.memory) * 1e-9));
  }
  return {{Outcome::grader_fault,
           fmt::format("The worker was ended by {} from outside. The machine may have run out of "
                       "memory.",
                       signal)},
          {},
          true};
}

}  // namespace

/// What the kernel does not take for a program was made so by its source: what was linked is what
/// is there.
Reply WorkerClient::not_started(int error) const {
  std::error_code ignored;
  const bool is_no_program =
      error == ENOEXEC || error == ELIBBAD ||
      (error == ENOENT &&
       std::filesystem::exists(worker_, ignored));  // what it names as its loader
  if (is_no_program) {
    return failure(
        Outcome::ended_early,
        fmt::format("The program made of this file cannot be run: {}.", strerror(error)));
  }
  return failure(Outcome::grader_fault,
                 fmt::format("{} could not be started: {}.", worker_, strerror(error)));
}

/// Asked of one that has ended before it said hello. The loader tells what it needs without running
/// it. Empty if it finds everything: then the worker's own code has ended it.
std::string WorkerClient::why_not_loaded() const {
  process::Program program = program_of(worker_, expected_device_);
  const std::string path = loader();
  if (path.empty()) {
    return "";
  }
  program.command = {path, "--list", worker_};
  const process::Result result = process::run(program, kLoadSeconds);
  return result.succeeded() ? "" : fmt::format("{} cannot be loaded: {}", worker_, result.output);
}

/// A request that got no whole reply: why?
Reply WorkerClient::lost(worker::Transfer transfer, Waited waited, Clock::time_point deadline,
                         double seconds) {
  using worker::Transfer;
  // A closed pipe is most often the first sign of a process that is about to be gone.
  const bool closed = transfer == Transfer::closed || transfer == Transfer::truncated;
  const Clock::time_point patience = closed ? process::after(0.5) : Clock::now();
  process_->wait_for_exit(std::min(patience, deadline));
  const std::optional<Exit> exit = process_->exit();
  stop();
  if (waited == Waited::too_many_tasks) {
    return failure(Outcome::ended_early,
                   fmt::format("The program started more than {} threads or processes.",
                               most_tasks(expected_device_)));
  }
  if (waited == Waited::too_much_memory) {
    return failure(Outcome::too_much_memory,
                   fmt::format("The program took more than {:.1f} GB of this computer's memory.",
                               static_cast<double>(most_memory_) * 1e-9));
  }
  if (transfer == Transfer::malformed || transfer == Transfer::too_large) {
    return nonsense();
  }
  if (exit) {
    return describe_exit(*exit);
  }
  if (closed) {
    return failure(Outcome::ended_early,
                   "The program closed descriptor 3 or 4, which belong to the grader.");
  }
  if (transfer == Transfer::gave_up) {
    return no_answer(seconds);
  }
  return failure(Outcome::grader_fault, worker::describe(transfer));
}

}  // namespace onepass::verdict
