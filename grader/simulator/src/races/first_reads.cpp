#include "races/first_reads.h"

#include <algorithm>
#include <cstring>

namespace simulator {

bool confirms_first_read(const Access& access) {
  return access.expected != nullptr && std::memcmp(reinterpret_cast<const void*>(access.address),
                                                   access.expected, access.size) == 0;
}

/// False if it cannot be, or need not, for its like is told.
bool FirstReads::keep(const Read& read) {
  if (reads_.size() == kMost ||
      report_.is_known(read.atomic, {read.thread, read.access, read.place})) {
    return false;
  }
  const bool is_there = std::any_of(reads_.begin(), reads_.end(), [&](const Read& other) {
    return other.thread == read.thread && other.block == read.block &&
           other.access.address == read.access.address;
  });
  if (!is_there) reads_.push_back(read);
  return true;
}

void FirstReads::hold_back(AccessRecord atomic, AccessEvent read) {
  const Read held = {atomic, ordering_.block(), read.thread, read.access, read.place};
  if (!keep(held)) tell(held);
}

bool FirstReads::hold_back(AccessRecord read, AccessRecord atomic, AccessEvent update) {
  if (ordering_.block_of(read) != ordering_.block() || ordering_.has_returned(read.thread())) {
    return false;
  }
  const Access access = {update.access.address, update.access.size, update.access.alignment,
                         AccessType::read, sites_.address(read.site())};
  return keep({atomic, ordering_.block(), read.thread(), access, update.place});
}

void FirstReads::settle_all(AccessEvent now) {
  const Access& access = now.access;
  const auto is_settled = [&](const Read& read) {
    const Access& before = read.access;
    if (!is_by(read, now.thread) || before.address >= access.address + access.size ||
        access.address >= before.address + before.size) {
      return false;
    }
    const bool swaps = access.expected != nullptr && access.address == before.address &&
                       access.size == before.size;
    if (!swaps) tell(read);
    if (swaps && confirms_first_read(access)) confirmed_.insert(before.site);
    return !swaps || confirms_first_read(access);
  };
  reads_.erase(std::remove_if(reads_.begin(), reads_.end(), is_settled), reads_.end());
}

void FirstReads::on(const ThreadReturn& event) {
  const auto is_settled = [&](const Read& read) {
    if (!is_by(read, event.thread)) return false;
    tell(read);
    return true;
  };
  reads_.erase(std::remove_if(reads_.begin(), reads_.end(), is_settled), reads_.end());
}

}  // namespace simulator
