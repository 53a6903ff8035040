#include "driver/compile_errors.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "driver/cuda_names.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

struct Error {
  std::string file;
  std::string line;
  std::string message;
  bool is_fatal;  // it could not go on, which the machine may be to blame for
};

// An error with a place: "forward.cu:52:10: error: ..." (g++, clang, onepass-rewrite),
// "forward.cu(52): error: ..." (nvcc).
std::optional<Error> located_error(const std::string& line) {
  static const std::regex gnu(
      R"(^(.+?):(\d+):(?:\d+:)? (?:([Ff]atal )?[Ee]rror: (.*)|(internal compiler error: .*)))");
  static const std::regex nvcc(R"(^(.+?)\((\d+)\): (catastrophic )?error(?: #[\w-]+)?: (.*))");
  std::smatch match;
  if (std::regex_search(line, match, gnu)) {
    const bool crashed = match[5].matched;
    return Error{match[1], match[2], match[crashed ? 5 : 4], match[3].matched || crashed};
  }
  if (std::regex_search(line, match, nvcc)) {
    return Error{match[1], match[2], match[4], match[3].matched};
  }
  return std::nullopt;
}

// An error of these without a place: "ptxas error   : Entry function ...". They have another word
// for what they could not go on after.
std::optional<std::string> bare_error(const std::string& line) {
  static const std::regex pattern(R"(^(?:ptxas|nvlink)\b.*\berror\s*: (.*))");
  std::smatch match;
  if (std::regex_search(line, match, pattern)) {
    return match[1];
  }
  return std::nullopt;
}

// What a linker does not find, or finds twice; and more static memory than a program can reach.
std::optional<std::string> symbol_error(const std::string& line) {
  static const std::regex pattern(
      "\\b(undefined (?:reference to|symbol: )|multiple definition of|relocation truncated to "
      "fit:) *(.*)");
  std::smatch match;
  return std::regex_search(line, match, pattern)
             ? std::optional(match[1].str() + " " + match[2].str())
             : std::nullopt;
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
// up to the next error or warning.
std::string line_that_led_to(std::size_t error, const std::vector<std::string>& lines,
                             const std::string& file) {
  static const std::regex another(R"((?:^|[ )])(?:error|warning)\b.*: )");
  static const std::regex of_another(R"((?:^|[ )])(?:error|warning|note)\b.*: )");
  // Of g++'s "required from" the one at the top is the use; below it stands who asked for that.
  std::string found;
  for (std::size_t i = error; i-- > 0 && !std::regex_search(lines[i], of_another);) {
    const bool is_required = lines[i].find("   required from ") != std::string::npos;
    if (!is_required && !found.empty()) {
      break;
    }
    if (const std::string number = line_of(lines[i], file); !number.empty()) {
      found = number;
      if (!is_required) {
        break;
      }
    }
  }
  if (!found.empty()) {
    return found;
  }
  for (std::size_t i = error + 1; i < lines.size() && !std::regex_search(lines[i], another); ++i) {
    if (const std::string number = line_of(lines[i], file); !number.empty()) {
      return number;
    }
  }
  return "";
}

// Of this error, or of another one at its line: g++ calls what it does not know a variable first.
std::optional<std::string> about_names_of(std::size_t first,
                                          const std::vector<std::string>& lines) {
  const std::optional<Error> place = located_error(lines[first]);
  for (std::size_t i = first; i < lines.size(); ++i) {
    const std::optional<Error> error = located_error(lines[i]);
    if (!error) {
      continue;
    }
    if (error->file != place->file || error->line != place->line) {
      break;
    }
    if (const auto known = about_cuda_name(error->message)) {
      return known;
    }
  }
  return std::nullopt;
}

// A header's static_assert() or #error is a sentence to whoever uses it: what g++ puts around that
// is not.
std::string without_assertion(const std::string& message) {
  const std::string start = "static assertion failed: ";
  static const std::regex error(R"re(^#error "(.*)"$)re");
  std::smatch match;
  return message.rfind(start, 0) == 0               ? message.substr(start.size())
         : std::regex_search(message, match, error) ? match[1].str()
                                                    : message;
}

// A compiler may miss what a line should end with only when it comes to the first word of the next
// one, whose line it tells: g++ behind a declaration, nvcc everywhere.
std::string with_code_above(const std::string& message) {
  static const std::regex late(
      R"(^expected (?:(?:',' or ';'|initializer|primary-expression) before |an expression$|a "))");
  return std::regex_search(message, late)
             ? message + " (is something missing at the end of the code above?)"
             : message;
}

// An error of the file that includes the student's. It lies in their namespace twice where theirs
// goes on to the end of the file.
std::string told_by_binding(const std::string& message) {
  return message.find("onepass::onepass") == std::string::npos
             ? message
             : "namespace onepass is not closed: is a } missing?";
}

// "onepass/fast.h" for a header that the exercise gives; "" for any other file.
std::string given_header(const std::string& file) {
  constexpr std::string_view kFolder = "/include/onepass/";
  const std::size_t folder = file.rfind(kFolder);
  return folder == std::string::npos ? "" : file.substr(file.find("onepass/", folder));
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

std::optional<FirstError> first_error(const std::string& output, const std::string& file,
                                      const std::string& binding, bool for_simulator) {
  const auto at = [&](const std::string& number) {
    return number.empty() ? "" : fmt::format("{}:{}", file, number);
  };
  const std::vector<std::string> lines = lines_of(output);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto error = located_error(lines[i])) {
      if (error->file == file) {
        if (const auto known = for_simulator ? about_names_of(i, lines) : std::nullopt) {
          return FirstError{{*known, at(error->line)}, true};
        }
        return FirstError{{with_code_above(error->message), at(error->line)}, !error->is_fatal};
      }
      if (!error->is_fatal && (error->file == binding || is_assembly(error->file))) {
        return FirstError{{told_by_binding(error->message), ""}, true};
      }
      const std::string number = line_that_led_to(i, lines, file);
      const std::string message = without_assertion(error->message);
      const std::string given = message == error->message ? given_header(error->file) : "";
      std::string place;
      if (number.empty()) {
        place = fmt::format(" (at {}:{}{})", std::filesystem::path(error->file).filename().string(),
                            error->line,
                            error->is_fatal ? "" : ": is something in this file not closed?");
      } else if (!given.empty()) {
        place = fmt::format(" (at {}:{}, which this line uses)", given, error->line);
      }
      return FirstError{{message + place, at(number)}, false};
    }
    if (const auto symbol = symbol_error(lines[i])) {
      return FirstError{{*symbol, at(line_of(lines[i], file))}, false};
    }
    if (const auto message = bare_error(lines[i])) {
      return FirstError{{*message, ""}, true};
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
