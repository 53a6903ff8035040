#include "verdict/worker/finding.h"

#include <fmt/format.h>

#include <algorithm>

namespace onepass::verdict {
namespace {

struct KnownKind {
  Kind kind;
  const char* mistake;  // nullptr: the kind alone does not name one
  const char* advice;
};

// What the kinds mean in the terms of the mistakes that are told.
constexpr KnownKind kKinds[] = {
    {Kind::out_of_bounds_global, "no-tail-mask",
     "Look at how the index is computed, and check it against the sizes of the tensor before "
     "the access."},
    {Kind::out_of_bounds_shared, "shared-too-small",
     "Look at how the index is computed, and whose shared memory it is."},
    {Kind::out_of_bounds_local, "array-too-small",
     "Give the array one slot for each index that is used, or let no index go so far."},
    {Kind::use_after_free, nullptr, "Free memory only after the last kernel that uses it."},
    {Kind::null_pointer, "null-pointer", "Check that the pointer was given before it is used."},
    {Kind::host_pointer, nullptr, "A kernel may only use pointers to device memory."},
    {Kind::wrong_space, nullptr,
     "PTX names the memory that an address leads to: .global, .shared, or neither for a pointer of "
     "C++."},
    {Kind::device_pointer, "device-memory-on-host",
     "Let a kernel do it: where there is a GPU, host code crashes there."},
    {Kind::other_stream, "other-stream",
     "Put all work on `stream`: kernel<<<grid, block, bytes, stream>>>(...), cudaMemsetAsync(..., "
     "stream)."},
    {Kind::host_waits, "host-waits",
     "Leave it out: what comes later on the same stream waits by itself, and who wants the results "
     "waits for them. cudaFreeAsync() frees memory without waiting."},
    {Kind::memory_kept, "memory-kept",
     "Give it back behind the last kernel that uses it: cudaFreeAsync(pointer, stream)."},
    {Kind::host_written, "no-kernel-launched",
     "Results must be computed by a kernel of yours: copies and fills may prepare them."},
    {Kind::misaligned, "misaligned-vector",
     "A vector access needs an address that is a multiple of what its type is aligned to: check "
     "it, and fall back to single elements."},
    {Kind::uninitialised_shared, "uninitialised-shared",
     "Write every slot before it is read; the number of warps may be smaller than the array."},
    {Kind::uninitialised_global, "accumulated-into-garbage",
     "An output holds nothing yet: write it before you read it or add to it."},
    {Kind::undefined_result, "sum-not-broadcast",
     "Let that thread put it in shared memory, and all read it from there behind a "
     "__syncthreads()."},
    {Kind::barrier_divergence, "divergent-barrier",
     "All threads of a block must meet at the same barrier: move it out of the branch."},
    {Kind::early_return, "early-return-barrier",
     "Let threads with nothing to do skip the work, not the barrier or the shuffle."},
    {Kind::cluster_lifetime, "missing-barrier",
     "Put a cluster.sync() before the first access to another block's shared memory, and one "
     "behind the last, which all threads of the cluster reach. Behind arrivals and asynchronous "
     "stores it does if the other block waits for their phase."},
    {Kind::early_begin, "missing-barrier",
     "Call cudaGridDependencySynchronize() before the first access to what work before it may "
     "use, in each kernel of a chain, or launch without that attribute."},
    {Kind::deadlock, "divergent-barrier", "Threads wait for others that never come."},
    {Kind::bad_warp_mask, "bad-shuffle-mask",
     "The mask must name exactly the lanes that take part, the calling one included."},
    {Kind::inactive_lane_read, "bad-shuffle-mask",
     "A shuffle may only read from lanes that take part in it."},
    {Kind::endless_loop, nullptr, "Look at the loop's condition and at its step."},
    {Kind::stack_overflow, nullptr, "Make local arrays smaller, or the recursion less deep."},
    {Kind::invalid_launch, "launch-failed",
     "Look at the launch: its grid, block and shared memory sizes, and by what call it is made."},
    {Kind::refused_copy, nullptr,
     "Nothing was copied: look at the pointers, the direction, and the sizes, all in bytes."},
    {Kind::shared_race, "missing-barrier", "Put a __syncthreads() between the two."},
    {Kind::global_race, nullptr,
     "Let one thread do both, or put a __syncthreads() between the two."},
    {Kind::read_only_load, "read-only-load",
     "Load it plainly, or hand it on through shared memory or a shuffle; __ldg() is for inputs "
     "that the kernel does not write."},
    {Kind::copy_not_awaited, "copy-not-awaited",
     "Commit the copy and wait until its batch has landed, or wait for the phase of the barrier "
     "where it counts (for the parity of the one before, a wait comes back at once); and let a "
     "__syncthreads() come behind that if other threads read it. A copy that is for a later turn "
     "begins only when what was in its place has been read."},
    {Kind::copy_overwritten, "copy-overwritten",
     "Wait for the copy first, or use another part of the memory meanwhile."},
    {Kind::copy_left, nullptr, "Wait for every copy, or do not begin those that nobody needs."},
    {Kind::invalid_copy, nullptr, "Look at the copy's size and at both pointers."},
    {Kind::missing_proxy_fence, nullptr,
     "Let each thread that has written call fence_proxy_async(space_shared) before the "
     "__syncthreads() that the copy comes behind."},
    {Kind::invalid_barrier, nullptr,
     "Look at what the barrier was told to expect, at who arrives, and at the token of the wait."},
};

/// Of a race that its kind does not tell all of.
const char* advice_on_race(const Finding& finding) {
  const bool in_one_block = finding.parties[0].block == finding.parties[1].block;
  switch (finding.missing) {
    case Missing::order:
      return "Blocks run in no order: let one block do both, use an atomic, or let each block "
             "write to a place of its own and add those up in a second kernel.";
    case Missing::storage:
      return "Give each warp a TempStorage of its own: an array of them, and each takes its "
             "element.";
    case Missing::syncwarp:
      return "Put a __syncwarp() of both lanes between the two.";
    case Missing::fence:
      return "Let each thread that writes call __threadfence() behind that, and the block wait at "
             "a __syncthreads() before one of its threads does the atomic.";
    case Missing::acquire:
      return "Let the thread that does the atomic call __threadfence() behind it, too, before the "
             "barrier that the others wait at, or use cuda::atomic_ref with memory_order_acquire.";
    case Missing::cluster_barrier:
      return "Put a cluster.sync() between the two, which all threads of the cluster reach.";
    case Missing::grid_barrier:
      return "Put a grid.sync() between the two, which all threads of the grid reach.";
    case Missing::scope:
      return "Let all blocks use it with cuda::thread_scope_device, or by atomicAdd() and its kin "
             "without _block.";
    case Missing::barrier:
      return in_one_block ? nullptr : "Put a __syncthreads() there.";
    case Missing::nothing:
      break;
  }
  return nullptr;
}

const KnownKind* known_kind(Kind kind) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const KnownKind& known) { return kind == known.kind; });
  return found == std::end(kKinds) ? nullptr : found;
}

/// "5", or "(5, 1, 0)" if it is not all in x.
std::string place(const simulator::Dim3& index) {
  return index.y == 0 && index.z == 0 ? std::to_string(index.x)
                                      : fmt::format("({}, {}, {})", index.x, index.y, index.z);
}

std::string base_name(const std::string& file) {
  return file.substr(file.rfind('/') + 1);
}

bool is_race(const Finding& finding) {
  return (finding.kind == Kind::shared_race || finding.kind == Kind::global_race) &&
         finding.parties.size() == 2;
}

/// Of an index past the end of a shared array: is the array too small, or does someone come there
/// who has no slot? A thread that uses its warp's number wants a slot for each warp.
std::string advice_on_slots(const Finding& finding) {
  const Party& who = finding.parties.front();
  if (finding.index == who.warp && who.warp != who.lane) {
    return fmt::format("That is the number of its warp: give {} a slot for each warp.",
                       finding.buffer);
  }
  const char* lane = finding.index == who.lane ? " (that index is the number of its lane: if there "
                                                 "is a slot for each warp, only as many "
                                                 "lanes have one to read)"
                                               : "";
  return fmt::format(
      "Either {} needs a slot for this index too, or this thread has no slot and "
      "must not come here{}.",
      finding.buffer, lane);
}

/// Of what happens in a header that the exercise gives, on behalf of one of the student's lines. Of
/// a race, not where two lines of theirs led to it: these can be put in order.
std::string advice_on_given(const Finding& finding) {
  const auto is_alike = [&](const Party& party) {
    return !party.caller_file.empty() && party.caller_file == finding.parties[0].caller_file &&
           party.called_from == finding.parties[0].called_from;
  };
  if (finding.parties.empty() ||
      !std::all_of(finding.parties.begin(), finding.parties.end(), is_alike)) {
    return "";
  }
  return fmt::format(
      "{} is given, and right if it is called as its comments say: look at line {}, at what it "
      "hands over, at which threads come there, and at what has to come before.",
      finding.parties[0].file, finding.parties[0].called_from);
}

/// What to do about it; empty where the kind is not known.
std::string advice_on(const Finding& finding) {
  if (const std::string of_given = advice_on_given(finding); !of_given.empty()) {
    return of_given;
  }
  if (lacks_thread_y(finding)) {
    return kThreadYAdvice;
  }
  if (finding.habit == simulator::Habit::same_value) {
    return "One of them is enough: let the others leave it out.";
  }
  if (finding.habit == simulator::Habit::lanes_in_step) {
    return "Put a __syncwarp() behind each write that other lanes read, and behind each read "
           "of what is written next.";
  }
  const char* of_race = is_race(finding) ? advice_on_race(finding) : nullptr;
  if (of_race != nullptr) {
    return of_race;
  }
  if (finding.kind == Kind::out_of_bounds_shared && finding.buffer == "dynamic shared memory") {
    return "Is the index right? Then ask for all bytes that are used: kernel<<<grid, block, bytes, "
           "stream>>>(...).";
  }
  if (finding.kind == Kind::misaligned && finding.buffer == "dynamic shared memory") {
    return "Each of the arrays that share it begins at a multiple of what its own type is aligned "
           "to: put the widest first, or round up where one ends.";
  }
  if (finding.kind == Kind::out_of_bounds_shared && !finding.buffer.empty() && finding.index >= 0 &&
      !finding.parties.empty()) {
    return advice_on_slots(finding);
  }
  const KnownKind* known = known_kind(finding.kind);
  return known == nullptr ? "" : known->advice;
}

}  // namespace

const char* const kThreadYAdvice =
    "They differ in threadIdx.y only: if that stands for another row, each needs a place of its "
    "own, and threadIdx.y belongs in the index.";

bool lacks_thread_y(const Finding& finding) {
  if (finding.kind != Kind::shared_race || !is_race(finding) ||
      finding.habit == simulator::Habit::same_value) {
    return false;
  }
  const Party& one = finding.parties[0];
  const Party& other = finding.parties[1];
  return one.action.starts_with("writes") && other.action.starts_with("writes") &&
         one.line == other.line && one.file == other.file && one.thread.x == other.thread.x &&
         one.thread.y != other.thread.y && one.thread.z == other.thread.z;
}

std::optional<std::string> location_of(const Party& party) {
  if (!party.caller_file.empty()) {
    return party.caller_file + ":" + std::to_string(party.called_from);
  }
  if (party.file.empty() || party.line <= 0) {
    return std::nullopt;
  }
  return party.file + ":" + std::to_string(party.line);
}

std::string sentence_of(const Party& party) {
  const bool is_given = !party.caller_file.empty();
  const std::string caller =
      party.called_from > 0
          ? fmt::format(" (called from {}{})", is_given ? base_name(party.caller_file) + ":" : "",
                        party.called_from)
          : "";
  const std::string where =
      location_of(party) ? fmt::format("{}:{}{}: ", is_given ? party.file : base_name(party.file),
                                       party.line, caller)
                         : "";
  if (party.on_host) {
    return where + "host code " + party.action;
  }
  return fmt::format("{}thread {} (warp {}, lane {}) of block {} {}", where, place(party.thread),
                     party.warp, party.lane, place(party.block), party.action);
}

std::optional<std::string> location_of(const Finding& finding) {
  for (const Party& party : finding.parties) {
    if (const auto location = location_of(party)) {
      return location;
    }
  }
  return std::nullopt;
}

bool is_endless(const Finding& finding) {
  return finding.kind == Kind::endless_loop || finding.kind == Kind::deadlock;
}

std::optional<std::string> mistake_of(const Finding& finding) {
  const KnownKind* known = known_kind(finding.kind);
  if (known == nullptr || known->mistake == nullptr) {
    return std::nullopt;
  }
  if (lacks_thread_y(finding)) {
    return "lost-updates";
  }
  if (finding.kind == Kind::shared_race && finding.missing == Missing::syncwarp) {
    return "missing-syncwarp";
  }
  if (finding.kind == Kind::deadlock &&
      finding.message.find("a word in memory") != std::string::npos) {
    return "lock-deadlock";
  }
  return known->mistake;
}

std::string account_of(const Finding& finding) {
  std::string text = finding.message;
  for (const Party& party : finding.parties) {
    if (!finding.warning && (!party.on_host || party.called_from > 0)) {
      text += "\n  " + sentence_of(party);
    }
  }
  return text;
}

std::string sentence_of(const Finding& finding) {
  const std::string what_to_do = advice_on(finding);
  return what_to_do.empty() ? account_of(finding) : account_of(finding) + "\n" + what_to_do;
}

}  // namespace onepass::verdict
