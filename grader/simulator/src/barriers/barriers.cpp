#include "barriers/barriers.h"

#include <utility>

#include "findings/texts.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

const char* barrier_name(BarrierScope scope) {
  return scope == BarrierScope::grid      ? "grid.sync()"
         : scope == BarrierScope::cluster ? "cluster.sync()"
                                          : "__syncthreads()";
}

}  // namespace

void BarrierChecker::on(const BlockBegin& event) {
  Block& block = blocks_.begin(event);
  block.number = event.number;
  block.threads.resize(event.threads);
  for (Thread& thread : block.threads) thread.site = 0;
  block.warps.assign((event.threads + 31) / 32, {});
  block.told_early_return = false;
  block.missing.clear();
}

void BarrierChecker::on(const ThreadReturn& event) {
  warp_of(event.thread).returned |= 1u << event.thread % 32;
}

Party BarrierChecker::party_of(unsigned thread, CodeAddress site, std::string action) const {
  return party(launch_, blocks_.running().number, thread, site, std::move(action));
}

Party BarrierChecker::waiting_party(unsigned thread) const {
  const Thread& waiting = blocks_.running().threads[thread];
  return party_of(thread, waiting.site, std::string("waits at ") + barrier_name(waiting.scope));
}

/// The number of the first thread that is one of these lanes of its warp, or -1.
int BarrierChecker::first_in(unsigned Warp::*lanes) const {
  const std::vector<Warp>& warps = blocks_.running().warps;
  for (std::size_t i = 0; i < warps.size(); ++i) {
    if (const unsigned mask = warps[i].*lanes; mask != 0) {
      return static_cast<int>(i) * 32 + __builtin_ctz(mask);
    }
  }
  return -1;
}

void BarrierChecker::check_same_barrier() {
  const Block& block = blocks_.running();
  const std::vector<Thread>& threads = block.threads;
  const auto first = static_cast<unsigned>(first_in(&Warp::at_barrier));
  for (unsigned i = first + 1; i < threads.size(); ++i) {
    const Thread& other = threads[i];
    if (other.barrier == threads[first].barrier ||
        !(block.warps[i / 32].at_barrier >> i % 32 & 1)) {
      continue;
    }
    if (!findings_.is_first(Kind::barrier_divergence, threads[first].site, other.site)) return;
    const Findings::Writing writing(findings_);
    const bool in_one_line = source_line(threads[first].site) == source_line(other.site);
    findings_.add(Kind::barrier_divergence, launch_.kernel,
                  std::string("Threads of one block wait at different barriers") +
                      (in_one_line ? " (two calls, though in one line)" : "") +
                      ": every thread of the block must reach the same " +
                      barrier_name(threads[first].scope) + '.',
                  {waiting_party(first), waiting_party(i)});
    return;
  }
}

void BarrierChecker::check_early_return() {
  Block& block = blocks_.running();
  if (block.told_early_return) return;
  const int returned = first_in(&Warp::returned);
  if (returned < 0) return;
  block.told_early_return = true;
  const Findings::Writing writing(findings_);
  const auto waiting = static_cast<unsigned>(first_in(&Warp::at_barrier));
  if (!findings_.is_first(Kind::early_return, block.threads[waiting].site)) return;
  Finding found{Kind::early_return,
                launch_.kernel,
                std::string("Some threads of the block returned before a ") +
                    barrier_name(block.threads[waiting].scope) +
                    " that the others reach. Since Volta it waits only for those that have not "
                    "returned: that is harmless where no result needs the others.",
                true,
                {waiting_party(waiting),
                 party_of(static_cast<unsigned>(returned), 0, "had returned before")}};
  found.habit = Habit::early_return;
  findings_.add(std::move(found));
}

void BarrierChecker::on(const BarrierMet&) {
  check_same_barrier();
  check_early_return();
  for (Warp& warp : blocks_.running().warps) warp.at_barrier = 0;
}

ErrorCode BarrierChecker::refuse(const WarpCall& call) {
  const Findings::Writing writing(findings_);
  const unsigned lane = call.thread % 32;
  const std::string what =
      call.mask >> lane & 1
          ? "has width " + std::to_string(call.width) + ": it must be 1, 2, 4, 8, 16 or 32."
          : "leaves out the lane that calls it, lane " + std::to_string(lane) + '.';
  const char* name = operation_name(call.operation);
  findings_.add(Kind::bad_warp_mask, launch_.kernel,
                std::string(name) + " with mask " + mask_text(call.mask) + ' ' + what,
                {party_of(call.thread, call.site, std::string("calls ") + name)});
  return kErrorLaunchFailure;
}

void BarrierChecker::on(const UndefinedSource& event) {
  const Thread& reader = thread(event.thread);
  const unsigned source = event.thread / 32 * 32 + static_cast<unsigned>(event.lane);
  const bool has_returned =
      (reader.mask >> event.lane & 1) != 0 && source < blocks_.running().threads.size();
  const Kind kind = has_returned ? Kind::early_return : Kind::inactive_lane_read;
  if (!findings_.is_first(kind, reader.site)) return;
  const Findings::Writing writing(findings_);
  const std::string name = operation_name(reader.operation);
  std::vector<Party> parties = {
      party_of(event.thread, reader.site, "reads lane " + std::to_string(event.lane))};
  if (has_returned) parties.push_back(party_of(source, 0, "had returned before"));
  const bool asked = !has_returned && reader.asked_at != 0 && reader.mask == reader.active_mask;
  if (asked) parties.push_back(party_of(event.thread, reader.asked_at, "asks for the mask"));
  findings_.add(
      kind, launch_.kernel,
      name + " reads a lane " +
          (has_returned ? "whose thread has returned before"
                        : "that does not take part (mask " + mask_text(reader.mask) + ')') +
          ": the value is undefined. This is harmless only where the result is not used." +
          (asked ? " The mask is from __activemask(), which tells who is there at that moment: "
                   "behind a loop or a branch lanes may come one by one. Name the lanes that are "
                   "meant, 0xffffffff for all."
                 : ""),
      std::move(parties), true);
}

}  // namespace simulator
