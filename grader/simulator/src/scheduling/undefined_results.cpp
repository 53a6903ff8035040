#include "scheduling/undefined_results.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "findings/texts.h"
#include "memory/held_pages.h"
#include "memory/names.h"

namespace simulator {
namespace {

// A NaN as float, as the upper half of a double, and, its own upper half, as half and bfloat16.
// CUDA's own NaN is 0x7fffffff.
constexpr std::uint32_t kUndefined = 0x7ffb0000;
constexpr std::size_t kMostCalls = 0xffff;

constexpr std::size_t kPage = 4096;

template <typename Word>
Word word_at(std::uintptr_t address) {
  Word word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

const char* who_has_it(const UndefinedResults::Call& call) {
  return std::strcmp(call.collective, "cub::BlockScan") == 0
             ? "nothing comes before the first thread's value."
             : "only the first thread has it.";
}

}  // namespace

std::uint32_t UndefinedResults::bits(const Call& call) {
  const auto known = std::find_if(calls_.begin(), calls_.end(),
                                  [&](const Call& other) { return other.site == call.site; });
  const auto number = static_cast<std::size_t>(known - calls_.begin());
  if (known == calls_.end() && number < kMostCalls) {
    calls_.push_back(call);
  } else if (known->block == call.block && call.thread < known->thread) {
    known->thread = call.thread;
  }
  return kUndefined | static_cast<std::uint32_t>(number);
}

void UndefinedResults::report(const LaunchBegin& launch, const DeviceMemory& memory,
                              Findings& findings) const {
  if (calls_.empty()) return;
  const Findings::Writing writing(findings);
  memory.each([&](const Allocation& allocation) { report_in(allocation, launch, findings); });
}

void UndefinedResults::report_in(const Allocation& memory, const LaunchBegin& launch,
                                 Findings& findings) const {
  const HeldPages pages(reinterpret_cast<const void*>(memory.begin), memory.size);
  const std::size_t unit = memory.label.element_bytes == 2 ? 2 : 4;
  const std::uintptr_t end = memory.begin + memory.size;
  std::uintptr_t address = memory.begin;
  while (address + unit <= end) {
    if (address % kPage < unit && !pages.hold(address)) {
      address += kPage;
      continue;
    }
    const std::uint32_t bits = unit == 2 ? std::uint32_t{word_at<std::uint16_t>(address)} << 16
                                         : word_at<std::uint32_t>(address);
    const std::uint32_t number = bits ^ kUndefined;
    if (number < calls_.size()) {
      const Call& call = calls_[number];
      if (findings.is_first(Kind::undefined_result, call.site)) {
        const ElementName element = device_element(memory, address, unit);
        findings.add({Kind::undefined_result,
                      launch.kernel,
                      element.text + " comes from the result of " + call.collective +
                          " in a thread where that is undefined: " + who_has_it(call),
                      true,
                      {party(launch, call.block, call.thread, call.site, "gets no result")},
                      element.buffer,
                      element.index});
      }
    }
    address += unit;
  }
}

void fill_undefined(void* value, std::size_t bytes, std::uint32_t bits) {
  const std::uint16_t half = static_cast<std::uint16_t>(bits >> 16);
  auto* const to = static_cast<unsigned char*>(value);
  if (bytes == sizeof half) std::memcpy(to, &half, sizeof half);
  for (std::size_t at = 0; at + sizeof bits <= bytes; at += sizeof bits) {
    std::memcpy(to + at, &bits, sizeof bits);
  }
}

}  // namespace simulator
