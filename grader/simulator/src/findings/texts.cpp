#include "findings/texts.h"

#include <utility>

#include "source/source_lines.h"

namespace simulator {

Party party(const LaunchBegin& launch, std::uint64_t block, unsigned thread, CodeAddress site,
            std::string action) {
  const SourceLine& line = source_line(site);
  const uint3 place = unflatten(thread, launch.block);
  const uint3 block_place = unflatten(block, launch.grid);
  Party result;
  result.action = std::move(action);
  result.file = line.file;
  result.line = line.line;
  result.thread = {place.x, place.y, place.z};
  result.block = {block_place.x, block_place.y, block_place.z};
  result.warp = static_cast<int>(thread / 32);
  result.lane = static_cast<int>(thread % 32);
  return result;
}

std::string bytes_text(unsigned size) {
  return std::to_string(size) + (size == 1 ? " byte" : " bytes");
}

std::string action_text(AccessType type, unsigned size) {
  switch (type) {
    case AccessType::read:
      return "reads " + bytes_text(size);
    case AccessType::write:
      return "writes " + bytes_text(size);
    case AccessType::atomic:
      return "updates " + bytes_text(size) + " atomically";
  }
  return "";
}

const char* operation_name(WarpOperation operation) {
  switch (operation) {
    case WarpOperation::sync:
      return "__syncwarp";
    case WarpOperation::shuffle:
      return "__shfl_sync";
    case WarpOperation::shuffle_up:
      return "__shfl_up_sync";
    case WarpOperation::shuffle_down:
      return "__shfl_down_sync";
    case WarpOperation::shuffle_xor:
      return "__shfl_xor_sync";
    case WarpOperation::ballot:
      return "__ballot_sync";
    case WarpOperation::any:
      return "__any_sync";
    case WarpOperation::all:
      return "__all_sync";
    case WarpOperation::match_any:
      return "__match_any_sync";
    case WarpOperation::match_all:
      return "__match_all_sync";
    case WarpOperation::add_unsigned:
    case WarpOperation::add_signed:
      return "__reduce_add_sync";
    case WarpOperation::min_unsigned:
    case WarpOperation::min_signed:
      return "__reduce_min_sync";
    case WarpOperation::max_unsigned:
    case WarpOperation::max_signed:
      return "__reduce_max_sync";
    case WarpOperation::bit_and:
      return "__reduce_and_sync";
    case WarpOperation::bit_or:
      return "__reduce_or_sync";
    case WarpOperation::bit_xor:
      return "__reduce_xor_sync";
  }
  return "warp operation";
}

std::string mask_text(unsigned mask) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[mask >> shift & 15];
  return text;
}

}  // namespace simulator
