#include "driver/compile_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <regex>
#include <vector>

#include "driver/faults.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

struct Error {
  std::string file;
  std::string line;
  std::string message;
  bool is_fatal;  // whatever stands in the text, it could not go on
};

// An error with a place: "forward.cu:52:10: error: ..." (g++, clang, onepass-rewrite),
// "forward.cu(52): error: ..." (nvcc).
std::optional<Error> located_error(const std::string& line) {
  static const std::regex gnu(
      R"(^(.+?):(\d+):(?:\d+:)? ([Ff]atal |internal compiler )?[Ee]rror: (.*))");
  static const std::regex nvcc(R"(^(.+?)\((\d+)\): (catastrophic )?error(?: #[\w-]+)?: (.*))");
  std::smatch match;
  if (std::regex_search(line, match, gnu) || std::regex_search(line, match, nvcc)) {
    return Error{match[1], match[2], match[4], match[3].matched};
  }
  return std::nullopt;
}

// An error of these without a place: "ptxas error   : Entry function ...". What is fatal to them is
// a fault.
std::optional<std::string> bare_error(const std::string& line) {
  static const std::regex pattern(R"(^(?:ptxas|nvlink)\b.*\berror\s*: (.*))");
  std::smatch match;
  if (std::regex_search(line, match, pattern)) {
    return match[1];
  }
  return std::nullopt;
}

// What a linker does not find, or finds twice, and none of our libraries asked for; and more static
// memory than a program can reach.
std::optional<std::string> symbol_error(const std::string& line, const std::string& object) {
  static const std::regex pattern(
      "\\b(undefined (?:reference to|symbol: )|multiple definition of|relocation truncated to "
      "fit:) *(.*)");
  const auto in_library = [](const std::string& text) {
    return text.find(".a(") != std::string::npos;
  };
  std::smatch match;
  if (!std::regex_search(line, match, pattern)) {
    return std::nullopt;
  }
  // Of two definitions one may well be ours, and memory is far from our code as it is from theirs.
  const bool undefined = match[1].str().rfind("undefined", 0) == 0;
  if (undefined && (in_library(line) || in_library(object))) {
    return std::nullopt;
  }
  return match[1].str() + " " + match[2].str();
}

// A full disk and the like stop a compiler somewhere in the student's file: "fatal error: error
// writing to /tmp/a.s: No space left on device".
bool is_refusal(const Error& error) {
  static const std::vector<int> refusals = {ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE,
                                            EAGAIN, ENOMEM, EIO,   EROFS};
  const auto ends_with = [&](const std::string& text) {
    const std::size_t begin = error.message.size() - std::min(error.message.size(), text.size());
    return error.message.substr(begin) == text;
  };
  return error.is_fatal && (ends_with("out of memory") ||
                            std::any_of(refusals.begin(), refusals.end(),
                                        [&](int refusal) { return ends_with(strerror(refusal)); }));
}

// What a compiler hands to the assembler holds their asm too: "/tmp/a.s:20: Error: no such
// instruction".
bool is_assembly(const std::string& file) {
  return file == "{standard input}" || std::filesystem::path(file).extension() == ".s";
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

std::optional<CompileError> first_error(const std::string& output, const std::string& file,
                                        const std::string& binding) {
  const auto at = [&](const std::string& number) {
    return number.empty() ? "" : fmt::format("{}:{}", file, number);
  };
  const std::vector<std::string> lines = lines_of(output);
  std::string object;  // that the linker speaks of
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    object = line.find(": in function `") != std::string::npos ? line : object;
    if (const auto error = located_error(line)) {
      const std::string number =
          error->file == file ? error->line : line_that_led_to(i, lines, file);
      const bool in_ours = error->file == binding || is_assembly(error->file);
      const bool theirs = !number.empty() || (in_ours && !error->is_fatal);
      if (theirs && !is_refusal(*error)) {
        return CompileError{error->message, at(number)};
      }
    } else if (const auto symbol = symbol_error(line, object)) {
      return CompileError{*symbol, at(line_of(line, file))};
    } else if (const auto message = bare_error(line)) {
      return CompileError{*message, ""};
    }
  }
  return std::nullopt;
}

std::optional<CompileError> error_elsewhere(const std::string& output) {
  for (const std::string& line : lines_of(output)) {
    if (const auto error = located_error(line); error && !error->is_fatal) {
      return CompileError{
          fmt::format("{} (at {}:{}: is something in this file not closed?)", error->message,
                      std::filesystem::path(error->file).filename().string(), error->line),
          ""};
    }
  }
  return std::nullopt;
}

std::string missing_function(const std::string& linker_output, const std::string& file) {
  // ld: undefined reference to `void onepass::rmsnorm_forward<__half>(__half const*, ...)'
  static const std::regex pattern(
      R"([Uu]ndefined reference to [`'"](?:[\w:]+ )?onepass::(\w+(?:<[^(]*>)?)\()");
  std::smatch match;
  for (const std::string& line : lines_of(linker_output)) {  // whose length is limited
    if (std::regex_search(line, match, pattern)) {
      return fmt::format("{} does not define {}", std::filesystem::path(file).filename().string(),
                         as_written(match[1]));
    }
  }
  return "";
}

}  // namespace onepass::driver
