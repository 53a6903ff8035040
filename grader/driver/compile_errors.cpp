#include "driver/compile_errors.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <regex>
#include <vector>

#include "driver/text.h"

namespace onepass::driver {
namespace {

struct Error {
  std::string file;
  std::string line;
  std::string message;
};

// An error with a place: "forward.cu:52:10: error: ..." (g++, clang, onepass-rewrite),
// "forward.cu(52): error: ..." (nvcc).
std::optional<Error> located_error(const std::string& line) {
  static const std::regex gnu(
      R"(^(.+?):(\d+):(?:\d+:)? (?:fatal |internal compiler )?error: (.*))");
  static const std::regex nvcc(R"(^(.+?)\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.*))");
  std::smatch match;
  if (std::regex_search(line, match, gnu) || std::regex_search(line, match, nvcc)) {
    return Error{match[1], match[2], match[3]};
  }
  return std::nullopt;
}

// An error without one: "ptxas error   : Entry function ...", "cc1plus: error: ...".
std::optional<std::string> bare_error(const std::string& line) {
  static const std::regex pattern(R"(\b(?:error|fatal)\s*: (.*))");
  std::smatch match;
  if (std::regex_search(line, match, pattern)) {
    return match[1];
  }
  return std::nullopt;
}

// The line number with which `line` names the student's file: "forward.cu:52", "forward.cu(52)" or,
// in nvcc's account of an instantiation, "at line 52 of forward.cu".
std::string line_of(const std::string& line, const std::string& file) {
  const std::size_t found = line.find(file);
  if (found == std::string::npos) {
    return "";
  }
  static const std::regex after(R"(^[:(](\d+))");
  static const std::regex before(R"(at line (\d+) of "?$)");
  std::smatch match;
  const std::string head = line.substr(0, found);
  const std::string tail = line.substr(found + file.size());
  const bool named =
      std::regex_search(tail, match, after) || std::regex_search(head, match, before);
  return named ? match[1].str() : "";
}

// The student's line for an error in somebody else's file. What led to it stands before it ("In
// file included from", "required from here") or after it (g++'s notes, nvcc's "detected during"),
// up to the next error.
std::string line_that_led_to(std::size_t error, const std::vector<std::string>& lines,
                             const std::string& file) {
  for (std::size_t i = error; i-- > 0;) {
    if (const std::string number = line_of(lines[i], file); !number.empty()) {
      return number;
    }
  }
  for (std::size_t i = error + 1; i < lines.size() && !located_error(lines[i]); ++i) {
    if (const std::string number = line_of(lines[i], file); !number.empty()) {
      return number;
    }
  }
  return "";
}

// Names as the student writes them: no namespace of ours, "__half" however a compiler spells it.
std::string as_written(std::string name) {
  static const std::regex prefix(R"((?:onepass::|struct |class ))");
  return std::regex_replace(name, prefix, "");
}

}  // namespace

std::string CompileError::told(const std::string& file) const {
  return fmt::format("{}: {}", location.empty() ? file : location, message);
}

CompileError first_error(const std::string& output, const std::string& file) {
  const std::vector<std::string> lines = lines_of(output);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto error = located_error(lines[i])) {
      const std::string number =
          error->file == file ? error->line : line_that_led_to(i, lines, file);
      return {error->message, number.empty() ? "" : fmt::format("{}:{}", file, number)};
    }
    if (const auto message = bare_error(lines[i])) {
      return {*message, ""};
    }
  }
  return {lines.empty() ? "the compiler failed without saying why" : lines.front(), ""};
}

std::string missing_function(const std::string& linker_output, const std::string& file) {
  // ld: undefined reference to `void onepass::rmsnorm_forward<__half>(__half const*, ...)'
  static const std::regex pattern(
      R"([Uu]ndefined reference to [`'"](?:[\w:]+ )?onepass::(\w+(?:<[^(]*>)?)\()");
  std::smatch match;
  if (!std::regex_search(linker_output, match, pattern)) {
    return "";
  }
  return fmt::format("{} does not define {}", std::filesystem::path(file).filename().string(),
                     as_written(match[1]));
}

}  // namespace onepass::driver
