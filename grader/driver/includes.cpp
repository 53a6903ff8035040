#include "driver/includes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <utility>

#include "driver/cuda_names.h"
#include "driver/files.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

constexpr std::size_t kLongestInclude = 4000;  // of a line; std::regex runs out of stack on 80 kB

bool lies_in(const fs::path& file, const fs::path& folder) {
  const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return rest == folder.end();
}

std::vector<fs::path> parse_dependencies(const std::string& rule) {
  // Of a name, make writes a blank, # and $ as "\ ", "\#" and "$$"; a lone \ ends a line only. Not
  // by std::regex: a #line may give a name of any length.
  std::vector<fs::path> files;
  std::string name;
  const std::size_t colon = rule.find(": ");
  const std::string text = colon == std::string::npos ? "" : rule.substr(colon + 2) + '\n';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string two = text.substr(i, 2);
    if (two == "\\ " || two == "\\#" || two == "$$") {
      name += two[1];
      ++i;
    } else if (two != "\\\n" && text[i] != ' ' && text[i] != '\n') {
      name += text[i];
    } else if (!name.empty()) {
      files.emplace_back(std::exchange(name, ""));
    }
  }
  return files;
}

std::optional<fs::path> first_forbidden(const std::vector<fs::path>& files,
                                        const std::vector<fs::path>& allowed) {
  std::vector<fs::path> roots;
  std::transform(allowed.begin(), allowed.end(), std::back_inserter(roots), plain);
  for (const fs::path& file : files) {
    const fs::path real = plain(file);
    if (std::none_of(roots.begin(), roots.end(),
                     [&](const fs::path& root) { return lies_in(real, root); })) {
      return file;
    }
  }
  return std::nullopt;
}

CompileError forbidden_include(const fs::path& header, const std::string& source,
                               const std::string& shown_file) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  CompileError error;
  error.message = fmt::format(
      "an exercise may include only its contract in <onepass/>, CUDA's headers and the standard "
      "library, not {}",
      header.filename().string());
  int number = 0;
  for (const std::string& line : lines_of(source)) {
    ++number;
    std::smatch match;
    const std::string begin = line.substr(0, kLongestInclude);
    if (std::regex_search(begin, match, include) &&
        fs::path(match[1].str()).filename() == header.filename()) {
      error.location = fmt::format("{}:{}", shown_file, number);
      break;
    }
  }
  return error;
}

std::optional<CompileError> refused_include(const CompileError& error, const std::string& source,
                                            const std::string& shown_file) {
  constexpr std::string_view kRefused = ": Permission denied";
  const std::string& message = error.message;
  const std::size_t length = message.size() - std::min(message.size(), kRefused.size());
  if (message.substr(length) != kRefused) {
    return std::nullopt;
  }
  CompileError found = forbidden_include(message.substr(0, length), source, shown_file);
  if (found.location.empty()) {
    found.location = error.location;
  }
  return found;
}

CompileError with_refused_header(CompileError error, const std::string& source) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  const std::size_t colon = error.location.rfind(':');
  const std::vector<std::string> lines = lines_of(source);
  const int number = colon == std::string::npos ? 0 : std::atoi(error.location.c_str() + colon + 1);
  if (number < 1 || static_cast<std::size_t>(number) > lines.size()) {
    return error;
  }
  const std::string line = lines[static_cast<std::size_t>(number) - 1].substr(0, kLongestInclude);
  std::smatch match;
  if (std::regex_search(line, match, include)) {
    if (const auto told = about_cuda_name(match[1].str() + ": No such file or directory")) {
      error.message = *told;
    }
  }
  return error;
}

}  // namespace onepass::driver
