// Calls that are looked at and not judged: what a launcher launches, of which nothing runs, and
// which blocks read what.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

constexpr std::size_t kTracedRequests = 8192;
constexpr std::uint64_t kFirstBlocks = 4;

/// The requests of a launch, of those that were traced, which read that tensor.
std::vector<const simulator::TracedRequest*> reads_of(const Run& run, std::size_t launch,
                                                      const std::string& tensor) {
  std::vector<const simulator::TracedRequest*> reads;
  for (const simulator::TracedRequest& request : run.trace[launch]) {
    const LineTraffic& line =
        run.traffic.at(launch).lines.at(static_cast<std::size_t>(request.line));
    if (line.buffer == tensor && line.type == AccessType::read) {
      reads.push_back(&request);
    }
  }
  return reads;
}

}  // namespace

std::string Session::name_of(const Case& call) const {
  return call.function() + call.describe() + text_of(other_device_);
}

const Session::Launches& Session::launches_of(const Case& call) {
  ask({call});
  return launches_[name_of(call)];
}

void Session::ask(const std::vector<Case>& calls) {
  std::vector<Case> open;
  for (const Case& call : calls) {
    if (launches_.try_emplace(name_of(call)).second && device() == "cpu") {
      open.push_back(call);
    }
  }
  if (open.empty() || is_out_of_time()) {
    return;
  }
  WorkerClient::Launchers asked;
  timed([&] {
    asked = worker_->ask(open, settings_.time_limit);
    return Run();
  });
  if (asked.crashed && open.size() > 1) {  // which of them did?
    for (const Case& call : open) {
      launches_.erase(name_of(call));
      ask({call});
    }
    return;
  }
  asked.answers.resize(open.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    // On another device a launch may be refused, but a launcher that crashes is wrong there too.
    const bool may_fail = !text_of(other_device_).empty() && !asked.crashed;
    if (!asked.answers[i].went_well && !may_fail) {
      expect_in_bounds(open[i]);
    }
    launches_[name_of(open[i])] = std::move(asked.answers[i].launches);
  }
}

Run Session::trace(const Case& call, const Turn& turn) {
  return timed([&] { return worker_->trace(call, kTracedRequests, time_limit(turn), turn); });
}

double Session::share_of_first_block(const Case& call, const std::string& tensor,
                                     std::int64_t row) {
  double most = 0.0;
  if (device() != "cpu") {
    return most;
  }
  const std::int64_t row_bytes = row * static_cast<std::int64_t>(size_of(call.dtype()));
  Turn turn = {next_turn().poison};
  turn.most_blocks = kFirstBlocks;
  const Run run = trace(call, turn);
  for (std::size_t launch = 0; launch < run.trace.size(); ++launch) {
    std::set<std::int64_t> rows, places;
    std::int64_t bytes = 0;
    for (const simulator::TracedRequest* request : reads_of(run, launch, tensor)) {
      for (std::size_t lane = 0; request->block == 0 && lane < request->offsets.size(); ++lane) {
        rows.insert(request->offsets[lane] / row_bytes);
        bytes += places.insert(request->offsets[lane]).second ? request->bytes : 0;
      }
    }
    if (rows.size() == 1) {
      most = std::max(most, static_cast<double>(bytes) / static_cast<double>(row_bytes));
    }
  }
  return most;
}

std::optional<std::int64_t> Session::fewest_blocks_that_read(const Case& call,
                                                             const std::string& tensor) {
  std::optional<std::int64_t> fewest;
  if (device() != "cpu") {
    return fewest;
  }
  const Run run = trace(call, {next_turn().poison});
  std::uint64_t most_read = 0;
  for (const LaunchTraffic& launch : run.traffic) {
    most_read = std::max(most_read, launch.read_bytes);
  }
  for (std::size_t i = 0; i < run.trace.size(); ++i) {
    std::set<std::uint64_t> blocks;
    for (const simulator::TracedRequest* request : reads_of(run, i, tensor)) {
      blocks.insert(request->block);
    }
    const simulator::Dim3 grid = run.traffic[i].grid;
    const bool is_cut = run.trace[i].size() >= kTracedRequests;
    const std::int64_t count =
        is_cut ? std::int64_t{grid.x} * grid.y * grid.z : static_cast<std::int64_t>(blocks.size());
    if (!blocks.empty() && 2 * run.traffic[i].read_bytes >= most_read) {
      fewest = std::min(count, fewest.value_or(count));
    }
  }
  return fewest;
}

}  // namespace onepass::verdict
