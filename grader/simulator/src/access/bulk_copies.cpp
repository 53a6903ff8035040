// Bulk copies (cp.async.bulk, TMA): one thread moves many bytes between global and shared memory.
//
// Into shared memory: the bytes that have landed count at a barrier in shared memory, which is told
// how many to expect (split_barriers.cpp). Out of it: the thread commits batches and waits for
// them, until their sources have been read, so that others may write there again, or until all is
// done. To the checkers such a copy is many of 16 bytes.
#include <cstring>
#include <string>

#include "access/async_copies.h"
#include "access/split_barriers.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/landing.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

constexpr unsigned kBulkPiece = 16;

[[noreturn]] void refuse_bulk(Launch& launch, CodeAddress site, const std::string& why) {
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, Kind::invalid_copy, site,
            why +
                " A bulk copy moves a multiple of 16 bytes between global and shared memory, in "
                "the direction that its call names.",
            "begins to copy", kErrorIllegalInstruction);
}

void check_size(Launch& launch, CodeAddress site, std::size_t size) {
  if (size % kBulkPiece == 0) return;
  refuse_bulk(launch, site, "A bulk copy of " + std::to_string(size) + " bytes.");
}

AsyncCopy piece_of(Launch& launch, void* to, const void* from, std::size_t at, std::size_t whole,
                   CodeAddress site) {
  AsyncCopy piece = copy_of(launch, static_cast<std::byte*>(to) + at,
                            static_cast<const std::byte*>(from) + at, kBulkPiece, 0, site);
  piece.whole = whole;
  return piece;
}

void tell_begun(Launch& launch, AccessType type, const void* address, std::size_t size,
                CodeAddress site) {
  launch.checkers.tell(BulkCopyBegun{launch.thread->number, site, launch.block->number, type,
                                     reinterpret_cast<std::uintptr_t>(address), size});
}

CopyQueue& bulk_copies_of(Launch& launch) {
  std::vector<CopyQueue>& queues = launch.block->bulk_copies;
  if (queues.empty()) queues.resize(launch.block->threads.size());
  return queues[launch.thread->number];
}

void read_source(Launch& launch, AsyncCopy& copy) {
  launch.checkers.tell(CopyRead{&copy});
  std::memcpy(copy.value, reinterpret_cast<const void*>(copy.from.address), copy.from.size);
  copy.is_read = true;
}

}  // namespace

void bulk_copy_in(void* to, const void* from, std::size_t size, void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  const UsedBarrier used = use_barrier(*launch, barrier, AccessType::atomic, site);
  check_size(*launch, site, size);
  for (std::size_t done = 0; done < size; done += kBulkPiece) {
    AsyncCopy piece = piece_of(*launch, to, from, done, size, site);
    if (is_remote(piece.to_place)) {
      refuse_bulk(*launch, site,
                  "A bulk copy to shared memory of another block, which is not simulated.");
    }
    if (!is_shared(piece.to_place) || !is_from_global(*launch, piece)) {
      refuse_bulk(*launch, site,
                  "A bulk copy to what is no shared memory, or from no global memory.");
    }
    piece.is_at_barrier = true;
    begin(*launch, used.at.bulk.emplace_back(piece));
  }
  tell_begun(*launch, AccessType::read, from, size, site);
  note_arrival(*launch, used);
}

void bulk_copy_out(void* to, const void* from, std::size_t size) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  check_size(*launch, site, size);
  for (std::size_t done = 0; done < size; done += kBulkPiece) {
    const AsyncCopy piece = piece_of(*launch, to, from, done, size, site);
    if (is_remote(piece.from_place)) {
      refuse_bulk(*launch, site, "A bulk copy from shared memory of another block.");
    }
    if (!is_shared(piece.from_place) || is_shared(piece.to_place)) {
      refuse_bulk(*launch, site,
                  "A bulk copy from what is no shared memory, or to no global memory.");
    }
    begin(*launch, bulk_copies_of(*launch).begin(piece));
  }
  tell_begun(*launch, AccessType::write, to, size, site);
}

void commit_bulk_copies() {
  if (Launch* launch = launch_of_kernel()) bulk_copies_of(*launch).commit();
}

void wait_for_bulk_copies(std::size_t prior, bool until_read) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  CopyQueue& queue = bulk_copies_of(*launch);
  if (until_read) {
    queue.wait_until_read(prior, site, [&](AsyncCopy& copy) { read_source(*launch, copy); });
  } else {
    queue.wait(prior, site, [&](const AsyncCopy& copy) { land(*launch, copy); });
  }
}

void proxy_fence() {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  enter(*launch, reinterpret_cast<CodeAddress>(__builtin_return_address(0)));
  launch->checkers.tell(ProxyFence{launch->thread->number});
}

}  // namespace simulator
