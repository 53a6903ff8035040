#include "source/source_lines.h"

#include <unwind.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

extern char __executable_start, _end;  // the linker's names for the program's first and last byte

namespace simulator {
namespace {

/// True for code that the student did not write.
bool is_header_of_others(const std::string& file) {
  return file.empty() || file.find("simulator/include/") != std::string::npos ||
         file.rfind("/usr/", 0) == 0;
}

/// Of grader/include/onepass.
constexpr const char* kGivenFolder = "/include/onepass/";
constexpr const char* kGiven = "onepass/";

/// Did the exercise give it? By the name that frames_at() leaves.
bool is_given(const std::string& file) {
  return file.rfind(kGiven, 0) == 0;
}

std::vector<SourceLine> frames_at(std::uintptr_t address) {
  std::vector<SourceLine> frames = read_frames(address);
  for (SourceLine& frame : frames) {
    const std::size_t folder = frame.file.rfind(kGivenFolder);
    if (folder != std::string::npos) frame.file.erase(0, frame.file.find(kGiven, folder));
  }
  return frames;
}

/// Of a file in include/cub: block/block_reduce.cuh has cub::BlockReduce.
std::string collective_in(const std::string& file) {
  const std::size_t end = file.rfind(".cuh");
  if (file.find("simulator/include/cub/") == std::string::npos || end == std::string::npos) {
    return "";
  }
  std::string name = "cub::";
  bool is_first = true;
  for (std::size_t i = file.rfind('/') + 1; i < end; ++i) {
    if (file[i] != '_') name += is_first ? static_cast<char>(file[i] - 'a' + 'A') : file[i];
    is_first = file[i] == '_';
  }
  return name;
}

/// To and from memory that is given to a collective.
bool moves_elements(const std::string& file) {
  return file.find("/block_load.cuh") != std::string::npos ||
         file.find("/block_store.cuh") != std::string::npos;
}

/// The innermost frame of the student's, and the line of the kernel that it was called from. Where
/// the kernel is inlined too, the launch is the frame after it, and a header's calls that.
SourceLine own_line(std::uintptr_t address) {
  const std::vector<SourceLine> frames = frames_at(address);
  const auto is_others = [](const SourceLine& frame) { return is_header_of_others(frame.file); };
  const auto first = std::find_if_not(frames.begin(), frames.end(), is_others);
  if (first == frames.end()) {
    return frames.empty() ? SourceLine{} : frames.front();
  }
  const auto end = std::find_if(first, frames.end(), is_others);
  const auto kernel = end - (end == frames.end() ? 1 : 2);
  SourceLine line = *first;
  if (first != frames.begin()) {
    line.collective = collective_in(std::prev(first)->file);
    line.in_storage = !line.collective.empty() && !moves_elements(frames.front().file);
  }
  if (is_given(line.file)) {
    const auto own = std::find_if(first, frames.end(), [&](const SourceLine& frame) {
      return !is_others(frame) && !is_given(frame.file);
    });
    if (own != frames.end()) {
      line.called_from = own->line;
      line.caller_file = own->file;
    }
    return line;
  }
  const bool is_elsewhere = kernel > first && kernel->file == line.file && !(*kernel == line);
  line.called_from = is_elsewhere ? kernel->line : 0;
  return line;
}

/// A library may have lines too.
bool is_in_program(CodeAddress address) {
  return address > reinterpret_cast<std::uintptr_t>(&__executable_start) &&
         address < reinterpret_cast<std::uintptr_t>(&_end);
}

_Unwind_Reason_Code collect_address(_Unwind_Context* context, void* addresses) {
  static_cast<std::vector<CodeAddress>*>(addresses)->push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

/// The innermost first.
std::vector<CodeAddress> running_calls() {
  std::vector<CodeAddress> calls;
  _Unwind_Backtrace(collect_address, &calls);
  return calls;
}

}  // namespace

const SourceLine& source_line(CodeAddress address) {
  static std::unordered_map<CodeAddress, SourceLine> known;
  const auto [entry, is_new] = known.try_emplace(address);
  if (is_new) {
    entry->second = own_line(address - 1);  // the call itself ends before its return address
  }
  return entry->second;
}

std::string line_text(CodeAddress address) {
  const SourceLine& line = source_line(address);
  return "line " + std::to_string(line.line) + (is_given(line.file) ? " of " + line.file : "");
}

SourceLine students_line(const SourceLine& line, const std::vector<CodeAddress>& host_calls) {
  if (!is_given(line.file)) return {};
  if (line.called_from > 0) return {line.caller_file, line.called_from};
  for (const CodeAddress call : host_calls) {
    const SourceLine& caller = source_line(call);
    if (is_given(caller.file) && caller.called_from > 0) {
      return {caller.caller_file, caller.called_from};
    }
    if (!is_header_of_others(caller.file) && !is_given(caller.file)) {
      return {caller.file, caller.line};
    }
  }
  return {};
}

std::vector<CodeAddress> calls_from(CodeAddress site) {
  std::vector<CodeAddress> calls = running_calls();
  calls.erase(calls.begin(), std::find(calls.begin(), calls.end(), site));
  return calls;
}

int outermost_line(CodeAddress site) {
  const SourceLine& innermost = source_line(site);
  int line = innermost.line;
  for (const CodeAddress call : calls_from(site)) {
    for (const SourceLine& frame : frames_at(call - 1)) {
      if (frame.file == innermost.file) line = frame.line;
    }
  }
  return line == innermost.line ? 0 : line;
}

CodeAddress interrupted_call(CodeAddress instruction) {
  const std::vector<CodeAddress> calls = running_calls();
  for (auto call = std::find(calls.begin(), calls.end(), instruction); call != calls.end();
       ++call) {
    const CodeAddress site = *call == instruction ? instruction + 1 : *call;
    if (is_in_program(site) && !is_header_of_others(source_line(site).file)) return site;
  }
  return instruction + 1;
}

}  // namespace simulator
