#include "driver/includes.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

bool lies_in(const fs::path& file, const fs::path& folder) {
  const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return rest == folder.end();
}

fs::path resolved(const fs::path& path) {
  fs::path result = fs::weakly_canonical(path);
  return result.has_filename() ? result : result.parent_path();  // no slash at the end
}

}  // namespace

std::vector<fs::path> parse_dependencies(const std::string& rule) {
  std::vector<fs::path> files;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) {
      files.emplace_back(word);
      word.clear();
    }
  };
  const std::size_t colon = rule.find(": ");
  for (std::size_t i = colon == std::string::npos ? rule.size() : colon + 2; i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\n';
    if ((rule[i] == '\\' && (next == ' ' || next == '#')) || (rule[i] == '$' && next == '$')) {
      word += rule[++i];  // make's way to write a blank, # and $ in a name
    } else if (rule[i] == '\\' && next == '\n') {
      ++i;  // the rule goes on in the next line
      end_word();
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      end_word();
    } else {
      word += rule[i];
    }
  }
  end_word();
  return files;
}

std::optional<fs::path> first_forbidden(const std::vector<fs::path>& files,
                                        const std::vector<fs::path>& allowed) {
  std::vector<fs::path> roots;
  std::transform(allowed.begin(), allowed.end(), std::back_inserter(roots), resolved);
  for (const fs::path& file : files) {
    const fs::path real = resolved(file);
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
  std::istringstream lines(source);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, include) &&
        fs::path(match[1].str()).filename() == header.filename()) {
      error.location = fmt::format("{}:{}", shown_file, number);
      break;
    }
  }
  return error;
}

}  // namespace onepass::driver
