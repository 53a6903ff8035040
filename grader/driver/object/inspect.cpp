#include "driver/object/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <utility>

#include "driver/object/names.h"
#include "driver/printable.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr const char* kNoSections =
    "an exercise may not choose the section of the program that something lies in, as {}";

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Does the line, without a comment at its end, have this word, followed by `after` ("": anything)?
bool has_word(const std::string& line, const std::string& word, const std::string& after) {
  const std::string code = line.substr(0, line.find("//"));
  for (std::size_t at = code.find(word); at != std::string::npos; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part_of_name(code[at - 1])) &&
        (end == code.size() || !is_part_of_name(code[end])) &&
        code.compare(end, after.size(), after) == 0) {
      return true;
    }
  }
  return false;
}

/// Names the first line that calls, or else has, one of these words.
CompileError at_word(const std::string& message, const std::vector<std::string>& words,
                     const std::string& source, const std::string& shown_file) {
  const std::vector<std::string> lines = lines_of(source);
  for (const std::string& word : words) {
    for (const char* after : {"(", ""}) {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (has_word(lines[i], word, after)) {
          return {message, fmt::format("{}:{}", shown_file, i + 1)};
        }
      }
    }
  }
  return {message, ""};
}

/// The parts of a::b<c>::d from the last on: a line has the innermost by which it is known.
std::vector<std::string> parts_of_name(std::string name) {
  name.resize(std::min(name.size(), name.find('<')));
  std::vector<std::string> words;
  std::string word;
  for (const char c : name + " ") {
    if (is_part_of_name(c)) {
      word += c;
    } else if (!word.empty()) {
      words.insert(words.begin(), std::exchange(word, ""));
    }
  }
  return words;
}

/// Without what a compiler makes of a file, of each kind one: the initialisers of its variables,
/// and how nvcc and the simulator make kernels known. Others may bear such a name too.
std::vector<std::string> without_compilers_own(std::vector<std::string> functions) {
  static const std::regex patterns[] = {std::regex("_GLOBAL__sub_I_.*"),
                                        std::regex("_sub_I_00099_\\d+"),
                                        std::regex("_ZL\\d+__sti____cudaRegisterAllv")};
  for (const std::regex& pattern : patterns) {
    const auto own =
        std::find_if(functions.begin(), functions.end(), [&](const std::string& function) {
          return std::regex_match(function.substr(0, 500), pattern);
        });
    if (own != functions.end()) {
      functions.erase(own);
    }
  }
  return functions;
}

bool is_usual_section(const std::string& name) {
  static const std::regex pattern(
      "(?:\\.rela)?\\.?(?:(?:text|data|rodata|bss|tdata|tbss|gcc_except_table|note)(?:\\.|$)|"
      "(?:eh_frame|group|init_array(?:\\.00099)?|comment|symtab|symtab_shndx|strtab|shstrtab|"
      "nv_fatbin|nvFatBinSegment|__nv_module_id)?$|debug_)");
  return std::regex_search(name.substr(0, 500), pattern, std::regex_constants::match_continuous);
}

/// A directive with one string, such as g++ writes: closed at the line's end and not before.
bool is_string(const std::string& line) {
  const std::size_t open = line.find('"');
  if (line.rfind("\t.string\t\"", 0) != 0 && line.rfind("\t.ascii\t\"", 0) != 0) {
    return false;
  }
  std::size_t at = open + 1;
  while (at < line.size() && line[at] != '"') {
    at += line[at] == '\\' ? 2 : 1;
  }
  return at + 1 == line.size();
}

/// A line of the one block in which nvcc hands on the kernels' code; or the one that g++ 13's
/// <iostream> has, which asks for a function of its library. Or one of the constants of the
/// function that follows: where part of that is cold, g++ writes them before it says that the block
/// has ended.
bool is_known_assembly(const std::string& line) {
  static const std::regex pattern(
      R"re(\s*(?:\.section \.nv_fatbin, "a"|\.align \d+|fatbinData:|\.text|\.previous|)re"
      R"re(\.globl _ZSt21ios_base_library_initv|)re"
      R"re(\.section\t\.rodata(?:\.(?:str|cst)[\d.]+)?(?:,"aMS?",@progbits,\d+)?|\.LC\d+:|)re"
      R"re(\.(?:byte|value|long|quad|zero)\t-?\d+)?\s*)re");
  if (line.rfind(".quad ", 0) == 0) {
    return line.find_first_not_of("0123456789abcdefx, ", 6) == std::string::npos;
  }
  return is_string(line) || (line.size() < 100 && std::regex_match(line, pattern));
}

}  // namespace

std::optional<CompileError> refused_object(const ObjectFile& object, const std::string& source,
                                           const std::string& shown_file) {
  const auto refuse = [&](const std::string& mangled, const char* message) {
    const std::string name = printable_line(readable_name(mangled));
    return at_word(fmt::format(fmt::runtime(message), name), parts_of_name(name), source,
                   shown_file);
  };
  for (const std::string& function : without_compilers_own(object.run_unasked)) {
    if (function.rfind("_GLOBAL__sub_I.", 0) == 0) {
      return at_word("an exercise may not choose when its variables are initialised",
                     {"init_priority"}, source, shown_file);
    }
    if (function.rfind(".", 0) != 0) {
      return refuse(function,
                    "{} would run before the grader, or after it: an exercise may not have "
                    "functions with __attribute__((constructor)) or (destructor)");
    }
    return refuse(function, kNoSections);
  }
  for (const std::string& section : object.sections) {
    if (!is_usual_section(section)) {
      return refuse(section, kNoSections);
    }
  }
  for (const ObjectSymbol& symbol : object.symbols) {
    using Kind = ObjectSymbol::Kind;
    if (symbol.is_resolver || symbol.is_data_in_code) {
      return refuse(symbol.name, "{} is neither an ordinary function nor an ordinary variable");
    }
    if (symbol.kind == Kind::undefined && !may_ask_for(symbol.name)) {
      return refuse(symbol.name,
                    "{} is not for exercises, which may use CUDA's functions for kernels, memory, "
                    "streams and events, mathematics, memory, printing, and the containers and "
                    "strings of the standard library");
    }
    if ((symbol.kind != Kind::strong && symbol.kind != Kind::weak) ||
        may_define(symbol.name, symbol.kind == Kind::weak)) {
      continue;
    }
    if (!symbol.is_variable) {
      return refuse(symbol.name,
                    "an exercise may not define {}, by which a library's function could be "
                    "replaced: its functions are C++ (not extern \"C\") and have other names");
    }
    if (!may_be_variable(symbol.name)) {
      return refuse(symbol.name,
                    "the variable {} bears a name of a library or of the compiler: give it another "
                    "one, or put it into a namespace");
    }
  }
  return std::nullopt;
}

std::optional<CompileError> refused_assembly(const std::string& assembly, const std::string& source,
                                             const std::string& shown_file) {
  // g++ marks what is not its own, once: all assembly outside of functions stands before the first
  // of them. Up to the last mark, as assembly may bear marks too, and in functions it stands after
  // them.
  const std::size_t begin = assembly.find("#APP\n");
  if (begin == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t first = begin + std::string("#APP\n").size();
  const std::size_t end = assembly.rfind("#NO_APP\n");
  const std::vector<std::string> lines =
      lines_of(assembly.substr(first, std::max(first, end) - first));
  if (std::all_of(lines.begin(), lines.end(), is_known_assembly)) {
    return std::nullopt;
  }
  return at_word("an exercise may not have assembly (asm) outside of kernels",
                 {"asm", "__asm__", "__asm"}, source, shown_file);
}

}  // namespace onepass::driver
