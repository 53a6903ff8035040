#include "scheduling/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "device_limits.h"

namespace simulator {

namespace context = boost::context::detail;

namespace {

/// On aarch64 g++ probes a large local array every 64 KiB, so the guard must be no less. A page
/// more leaves an odd number of 4 KiB pages from one stack to the next, else they compete for the
/// same few entries of the TLB.
const std::size_t kGuardBytes = 64 * 1024 + static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
const std::size_t kSpacing = limits::kStackBytes + kGuardBytes;

/// Linux 6.13 marks pages as guards, which leaves the mapping whole. Before, each guard is a
/// mapping of its own: some five times the work.
void put_guard(void* begin) {
  constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, of which older headers do not know
  if (madvise(begin, kGuardBytes, kGuardInstall) != 0) mprotect(begin, kGuardBytes, PROT_NONE);
}

}  // namespace

void Fiber::prepare(const Stack& stack, Body body, void* argument) {
  body_ = body;
  argument_ = argument;
  stopped_ = context::make_fcontext(reinterpret_cast<void*>(stack.top), stack.top - stack.bottom,
                                    &Fiber::enter);
}

void Fiber::enter(context::transfer_t transfer) {
  const Fiber& fiber = *note_stop(transfer).to;
  fiber.body_(fiber.argument_);
}

Stack StackPool::get(std::size_t index) {
  while (slabs_.size() <= index / kSlab) {
    void* slab = mmap(nullptr, kSlab * kSpacing, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) throw std::bad_alloc();
    for (std::size_t i = 0; i < kSlab; ++i) {
      put_guard(static_cast<char*>(slab) + i * kSpacing);
    }
    slabs_.push_back(reinterpret_cast<std::uintptr_t>(slab));
  }
  const std::uintptr_t guard = slabs_[index / kSlab] + index % kSlab * kSpacing;
  // Neighbouring stacks begin at different cache sets, else their hot lines evict one another.
  const std::size_t colour = index % 16 * 64;
  return {guard + kGuardBytes, guard + kSpacing - colour};
}

bool StackPool::is_guard(std::uintptr_t address) const {
  for (const std::uintptr_t slab : slabs_) {
    if (address - slab < kSlab * kSpacing) return (address - slab) % kSpacing < kGuardBytes;
  }
  return false;
}

}  // namespace simulator
