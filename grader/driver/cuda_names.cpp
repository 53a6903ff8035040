#include "driver/cuda_names.h"

#include <fmt/format.h>

#include <regex>
#include <set>

#include "driver/text.h"

namespace onepass::driver {

extern const char* const kCudaNames;  // CMakeLists.txt

namespace {

const std::string kGroups = "cooperative_groups";

/// Of these kinds object/names.cpp lets no function through, on a GPU neither.
const std::set<std::string> kOnNoDevice = {
    "CUDA graphs",       "functions that the host calls back",
    "memory pools",      "memory with a pitch, and copies in planes",
    "batches of copies", "textures and surfaces",
    "several devices",   "graphics and other devices' memory",
};

/// But for properties, attributes and errors, which may be asked for and compared with.
bool is_on_no_device(const std::string& name, const std::string& kind) {
  return kOnNoDevice.count(kind) > 0 && name.find("::") == std::string::npos &&
         name.rfind("cudaDevAttr", 0) != 0 && name.rfind("cudaError", 0) != 0;
}

/// What of CUDA's C++ libraries is not in the table, whose headers are another project's: the names
/// that begin so are theirs, and these are what programs call them for short.
const std::map<std::string, std::string> kLibraries = {
    {"cuda", "cuda"},          {"cub", "cub"},        {"ptx", "cuda::ptx"},
    {"cuda_ptx", "cuda::ptx"}, {"cptx", "cuda::ptx"}, {"cde", "cuda::device::experimental"},
};

constexpr std::size_t kLongestLine = 1000;  // std::regex takes a stack for more

std::string last_part(const std::string& name) {
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

/// Of a name with its scope: nothing if that is none of these libraries'.
std::optional<std::string> about_library(const std::string& name) {
  const std::size_t end = name.find("::");
  const auto found = kLibraries.find(name.substr(0, end));
  if (end == std::string::npos || found == kLibraries.end()) {
    return std::nullopt;
  }
  const std::string full = found->second + name.substr(end);
  return fmt::format(
      "the simulator has no {}: if CUDA has it, it cannot be simulated on a CPU: grade this on a "
      "GPU",
      full);
}

/// The name that g++ does not know, as the table has it; empty if the message says something else.
std::string unknown_name(const std::string& message) {
  static const std::regex header(R"(^(\S+): No such file or directory)");
  static const std::regex member(
      R"(^'(\w+)' (?:is not a member of|has not been declared in|in namespace) '([^'<]+))");
  // 'const class cooperative_groups::thread_block_tile<32>' has no member named 'match_all'
  static const std::regex no_member(
      R"('(?:[^'<]* )?([\w:]+)(?:<[^']*>)?'\}? has no (?:non-static data )?member named '(\w+)')");
  static const std::regex plain(
      R"(^'(?:::)?((?:cub::)?\w+)' (?:was not declared in this scope|has not been declared|does not name a )"
      R"(|is not a member of '::'))");
  static const std::regex in_template(R"(^there are no arguments to '(\w+)' that depend on)");
  std::smatch match;
  if (std::regex_search(message, match, member)) {
    return (match[2] == "cg" ? kGroups : match[2].str()) + "::" + match[1].str();
  }
  if (std::regex_search(message, match, no_member)) {
    return match[1].str() + "::" + match[2].str();
  }
  for (const std::regex* pattern : {&header, &plain, &in_template}) {
    if (std::regex_search(message, match, *pattern)) {
      return match[1];
    }
  }
  return "";
}

}  // namespace

const std::map<std::string, std::string>& cuda_names() {
  static const std::map<std::string, std::string> names = [] {
    std::map<std::string, std::string> result;
    std::string section;
    for (const std::string& line : lines_of(kCudaNames)) {
      if (line.rfind("== ", 0) == 0) {
        section = line.substr(3);
      } else if (!line.empty() && line[0] != '#') {
        result[line] = section;
      }
    }
    return result;
  }();
  return names;
}

std::optional<std::string> about_cuda_name(const std::string& message) {
  static const std::string refused = "refused: ";
  static const std::string replaced = "replaced: ";
  const std::string name = unknown_name(message);
  auto found = cuda_names().find(name);
  if (found == cuda_names().end()) {
    found = cuda_names().find(name.substr(0, name.find('/')) + "/*");
  }
  if (name.empty() || found == cuda_names().end()) {
    return about_library(name);
  }
  const std::string& section = found->second;
  const bool is_header = message.find("No such file") != std::string::npos;
  const std::string shown = is_header ? "<" + name + ">" : name;
  if (section.rfind(replaced, 0) == 0) {
    return shown + " " + section.substr(replaced.size());
  }
  if (section.rfind(refused, 0) != 0) {
    return std::nullopt;  // its header is not included
  }
  const std::string kind = section.substr(refused.size());
  return fmt::format("{} ({}) {}", shown, kind,
                     is_on_no_device(name, kind)
                         ? "is not for exercises, on a GPU neither"
                         : "cannot be simulated on a CPU: grade this on a GPU");
}

std::optional<std::string> about_short_name(const std::string& message, const std::string& source) {
  static const std::regex scope(
      R"((?:namespace\s+(\w+)\s*=|using\s+namespace)\s*(?:::)?((?:cuda|cub|cooperative_groups)(?:::\w+)*)\s*;)");
  const std::string name = unknown_name(message);
  const std::size_t own = name.rfind("::");
  const std::string alias = own == std::string::npos ? "" : last_part(name.substr(0, own));
  for (const std::string& line : lines_of(source)) {
    std::smatch match;
    const std::string text = line.substr(0, kLongestLine);
    if (name.empty() || !std::regex_search(text, match, scope) || match[1] != alias) {
      continue;
    }
    const std::string full = match[2].str() + "::" + last_part(name);
    const auto told = about_cuda_name(
        fmt::format("'{}' is not a member of '{}'", last_part(name), match[2].str()));
    if (told && (!alias.empty() || cuda_names().count(full) > 0)) {
      return told;
    }
    if (told) {  // or it is a name of nobody's
      return fmt::format("{} (if {} is meant: the simulator has none, grade this on a GPU)",
                         message, full);
    }
  }
  return std::nullopt;
}

}  // namespace onepass::driver
