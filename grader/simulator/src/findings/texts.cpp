#include "findings/texts.h"

#include <iterator>
#include <utility>

#include "source/source_lines.h"

namespace simulator {

Party party(const LaunchBegin& launch, std::uint64_t block, unsigned thread, CodeAddress site,
            std::string action) {
  const SourceLine& line = source_line(site);
  const SourceLine caller = students_line(line, *launch.host_calls);
  const uint3 place = unflatten(thread, launch.block);
  const uint3 block_place = unflatten(block, launch.grid);
  Party result;
  result.action = std::move(action);
  if (!line.collective.empty()) result.action += " in " + line.collective;
  result.file = line.file;
  result.line = line.line;
  result.called_from = caller.file.empty() ? line.called_from : caller.line;
  result.caller_file = caller.file;
  result.thread = {place.x, place.y, place.z};
  result.block = {block_place.x, block_place.y, block_place.z};
  result.warp = static_cast<int>(thread / 32);
  result.lane = static_cast<int>(thread % 32);
  return result;
}

Party host_party(CodeAddress site, std::string action) {
  const SourceLine& line = source_line(site);
  Party party;
  party.action = std::move(action);
  party.file = line.file;
  party.line = line.line;
  const SourceLine caller = students_line(line, calls_from(site));
  party.called_from = caller.file.empty() ? outermost_line(site) : caller.line;
  party.caller_file = caller.file;
  party.on_host = true;
  return party;
}

/// No shape has sizes beyond an int: there they were negative.
std::string shape_text(const uint3& shape) {
  const auto number = [](unsigned size) { return std::to_string(static_cast<int>(size)); };
  return number(shape.x) + " x " + number(shape.y) + " x " + number(shape.z);
}

std::string copy_text(const AsyncCopy& copy) {
  return std::string(copy.is_store ? "stores " : "begins to copy ") +
         bytes_text(copy.whole > 0 ? static_cast<unsigned>(copy.whole) : copy.to.size) +
         (copy.is_store ? " asynchronously" : "");
}

std::string bytes_text(unsigned size) {
  return std::to_string(size) + (size == 1 ? " byte" : " bytes");
}

const AccessWords& words_for(AccessType type) {
  static constexpr AccessWords kWords[] = {
      // in the order of AccessType
      {"Reads ", "reads ", "", "read"},
      {"Writes ", "writes ", "", "written"},
      {"Updates ", "updates ", " atomically", "updated atomically"}};
  return kWords[static_cast<std::size_t>(type)];
}

std::string action_text(AccessType type, unsigned size) {
  const AccessWords& words = words_for(type);
  return words.does + (size == 0 ? "it" : bytes_text(size)) + words.how;
}

std::string action_text(const Access& access) {
  return access.is_late ? "stores " + bytes_text(access.size) + " asynchronously"
                        : action_text(access.type, access.size);
}

const char* operation_name(WarpOperation operation) {
  static constexpr const char* kNames[] = {
      // in the order of WarpOperation
      "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
      "__shfl_xor_sync",   "__ballot_sync",     "__any_sync",        "__all_sync",
      "__match_any_sync",  "__match_all_sync",  "__reduce_add_sync", "__reduce_add_sync",
      "__reduce_min_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_max_sync",
      "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync", "elect.sync"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(WarpOperation::elect) + 1);
  return kNames[static_cast<std::size_t>(operation)];
}

std::string mask_text(unsigned mask) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[mask >> shift & 15];
  return text;
}

}  // namespace simulator
