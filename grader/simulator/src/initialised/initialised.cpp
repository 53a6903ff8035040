#include "initialised/initialised.h"

#include "device_limits.h"
#include "findings/texts.h"
#include "memory/names.h"

namespace simulator {

namespace {
constexpr std::size_t kMostHeld = 4096;  // more say nothing new
}

void InitialisedChecker::on(const BlockBegin& event) {
  Block& block = blocks_.begin(event);
  if (block.is_new) {
    block.statics = InitialisedBits(memory_.shared.static_size());
    block.dynamic = InitialisedBits(limits::kMostSharedPerBlock);
    block.is_new = false;
  }
  block.number = event.number;
  block.first_seat = event.cluster_blocks > 1 ? event.first_seat : event.seat;
  if (block.first_seat == event.seat) {
    block.seats.clear();
    block.ended = 0;
  }
  blocks_.at(block.first_seat).seats.push_back(event.seat);
  block.early_reads.clear();
  for (const SharedVariable& variable : memory_.shared.variables()) {
    if (variable.used) block.statics.fill(variable.begin, variable.size, false);
  }
  block.dynamic.fill(0, memory_.shared.dynamic_size(), false);
}

template <typename Tell>
void InitialisedChecker::tell(bool by_exchange, Tell tell) {
  if (!by_exchange) return tell();
  const Findings::Writing writing(findings_);
  unset_exchanges_.add(tell);
}

void InitialisedChecker::hold_back(EarlyRead read, bool by_exchange) {
  tell(by_exchange, [this, read] {
    std::vector<EarlyRead>& reads = blocks_.running().early_reads;
    if (reads.size() < kMostHeld) reads.push_back(read);
  });
}

bool InitialisedChecker::on_remote(const AccessEvent& event) {
  Block& owner = blocks_.at(remote_seat(event.place));
  InitialisedBits& bits =
      (event.place.piece - kFirstRemote) % 2 == kStaticShared ? owner.statics : owner.dynamic;
  const bool was_set = bits.all_set(event.place.offset, event.access.size);
  if (event.access.type != AccessType::read) bits.set(event.place.offset, event.access.size);
  return was_set || event.access.type == AccessType::write;
}

void InitialisedChecker::hold_back_remote(EarlyRead read, unsigned seat, bool by_exchange) {
  read.is_remote = true;
  read.block = blocks_.running().number;
  tell(by_exchange, [this, read, seat] {
    std::vector<EarlyRead>& reads = blocks_.at(seat).early_reads;
    if (reads.size() < kMostHeld) reads.push_back(read);
  });
}

void InitialisedChecker::on(const BlockEnd&) {
  Block& first = blocks_.at(blocks_.running().first_seat);
  if (++first.ended < first.seats.size()) return;
  for (const unsigned seat : first.seats) report_early_reads(blocks_.at(seat));
}

void InitialisedChecker::report_early_reads(Block& block) {
  if (block.early_reads.empty()) return;
  const Findings::Writing writing(findings_);
  for (const EarlyRead& read : block.early_reads) {
    if (!findings_.is_first(Kind::uninitialised_shared, read.site)) continue;
    const ElementName element = element_at(memory_, MemorySpace::shared, read.address, read.size);
    const Party reader =
        party(launch_, read.is_remote ? read.block : block.number, read.thread, read.site,
              action_text(read.is_atomic ? AccessType::atomic : AccessType::read, read.size));
    const std::string message =
        "Reads " + element.text +
        (read.is_remote ? " of another block of the cluster, which no thread has written."
                        : ", which no thread of the block has written.");
    findings_.add({Kind::uninitialised_shared,
                   launch_.kernel,
                   message,
                   false,
                   {reader},
                   element.buffer,
                   element.index});
  }
  block.early_reads.clear();
}

/// Reports it then.
bool InitialisedChecker::is_mistake(AccessEvent event) {
  if (device_.host_writes.at(event.access.address) != nullptr) return false;
  report_uninitialised(event);
  return true;
}

void InitialisedChecker::report_uninitialised(AccessEvent event) {
  const Access& access = event.access;
  if (findings_.has_told(Kind::uninitialised_global, access.site, 0, Reach::warp)) return;
  const Findings::Writing writing(findings_);
  // A pack may begin with elements that have been written.
  const InitialisedBits& bits = bits_of(event.place);
  std::size_t written = 0;
  while (bits.all_set(event.place.offset + written, 1)) ++written;
  const ElementName element =
      element_at(memory_, MemorySpace::global, access.address + written, access.size);
  const Party reader = party(launch_, blocks_.running().number, event.thread, access.site,
                             action_text(access.type, access.size));
  const std::string message = "Reads " + element.text + ", which nobody has written.";
  const Finding finding = {Kind::uninitialised_global,
                           launch_.kernel,
                           message,
                           false,
                           {reader},
                           element.buffer,
                           element.index};
  tell(access.is_exchange, [this, finding, site = access.site] {
    if (findings_.is_first(Kind::uninitialised_global, site)) findings_.add(finding);
  });
}

void report_host_writes(const DeviceMemory& memory, InitialisedMemory& initialised,
                        Findings& findings) {
  initialised.host_writes.each([&](const HostWrites::Write& write) {
    const Allocation* const in = memory.containing(write.begin, write.end - write.begin);
    if (in == nullptr || in->label.element_bytes == 0) return;
    const InitialisedBits& bits = initialised[in->number];
    std::uintptr_t address = write.begin;
    while (address < write.end && bits.all_set(address - in->begin, 1)) ++address;
    if (address == write.end) return;
    const ElementName element = device_element(*in, address, 1);
    findings.add({Kind::host_written,
                  "",
                  "Host code wrote " + element.text + ", by " + write.call +
                      ", and no kernel did afterwards.",
                  false,
                  {host_party(write.site, "writes it")},
                  element.buffer,
                  element.index});
  });
}

}  // namespace simulator
