#include "driver/object/parts.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr std::string_view kGlobal = "\t.globl\t", kWeak = "\t.weak\t", kLocal = "\t.local\t",
                           kType = "\t.type\t";

bool begins(const std::string& line, std::string_view with) {
  return line.compare(0, with.size(), with) == 0;
}

/// What follows, up to a comma.
std::string name_behind(std::string_view directive, const std::string& line) {
  return line.substr(directive.size(), line.find(',') - directive.size());
}

/// Is it the text's own, and the same thing in each part? A name with a dot is one that the
/// compiler gives to what it makes of a function, "_Z3sumi.constprop.0".
bool is_of_text(const std::string& name) {
  return begins(name, "_Z") && name.find('.') == std::string::npos;
}

/// -fsanitize=thread has one in each object: it makes the tool ready, which the simulator needs
/// not.
bool is_sanitizers(const std::string& function) {
  return begins(function, "_sub_I_00099_");
}

}  // namespace

std::string with_names_for_all(const std::string& assembly, bool is_first) {
  const std::vector<std::string> lines = lines_of(assembly);
  std::set<std::string> seen_by_all;
  for (const std::string& line : lines) {
    for (const std::string_view directive : {kGlobal, kWeak}) {
      if (begins(line, directive)) {
        seen_by_all.insert(name_behind(directive, line));
      }
    }
  }
  std::string result;
  result.reserve(assembly.size() + assembly.size() / 16);
  for (const std::string& line : lines) {
    if (begins(line, kLocal) && is_of_text(name_behind(kLocal, line))) {
      continue;  // the .comm behind it makes it one of all parts
    }
    if (begins(line, kGlobal) && !is_first) {
      result += kWeak;
      result += line.substr(kGlobal.size());
    } else {
      result += line;
    }
    result += '\n';
    if (begins(line, kType)) {
      const std::string name = name_behind(kType, line);
      if (is_of_text(name) && seen_by_all.count(name) == 0) {
        result += kWeak;
        result += name + '\n';
      }
    }
  }
  return result;
}

bool can_be_part(const ObjectFile& object) {
  const auto is_own = [&](const ObjectSymbol& symbol) {
    if (symbol.kind != ObjectSymbol::Kind::local || symbol.place.first >= object.sections.size()) {
      return false;  // the latter bears the name of the file
    }
    const std::string& section = object.sections[symbol.place.first];
    const auto lies_in = [&](std::string_view name) { return begins(section, name); };
    const bool is_state = symbol.is_variable && !lies_in(".rodata") && !lies_in(".data.rel.ro");
    const bool is_function = lies_in(".text") && symbol.name.find('.') == std::string::npos;
    return !symbol.name.empty() && !is_sanitizers(symbol.name) && (is_state || is_function);
  };
  return std::all_of(object.run_unasked.begin(), object.run_unasked.end(), is_sanitizers) &&
         std::none_of(object.symbols.begin(), object.symbols.end(), is_own);
}

}  // namespace onepass::driver
