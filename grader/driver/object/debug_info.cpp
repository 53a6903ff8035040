#include "driver/object/debug_info.h"

#include <algorithm>
#include <utility>

#include "driver/object/dwarf.h"

namespace onepass::driver {
namespace {

using dwarf::Entry;

bool is_class(const Entry& entry) {
  return entry.tag == dwarf::kClass || entry.tag == dwarf::kStructure || entry.tag == dwarf::kUnion;
}

/// From the tree to what was declared.
class Declarations {
 public:
  Declarations(const std::vector<Entry>& entries, std::map<std::size_t, Declared>& declared)
      : entries_(entries), declared_(declared) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      by_offset_[entries[i].offset] = i;
    }
    // All are there before one is described, for it may stand in another.
    for (void (Declarations::*step)(std::size_t) :
         {&Declarations::create, &Declarations::describe, &Declarations::complete}) {
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].tag == dwarf::kSubprogram || entries[i].tag == dwarf::kVariable) {
          (this->*step)(i);
        }
      }
    }
  }

  Declared* of(std::size_t entry) const {
    const auto found = declared_.find(entries_[root_of(entry)].offset);
    return found == declared_.end() ? nullptr : &found->second;
  }

  std::vector<InlinedCall> calls_in(std::size_t entry) const {
    std::vector<InlinedCall> calls;
    for (std::size_t i = entry + 1; i < entries_[entry].end; i = entries_[i].end) {
      const Entry& one = entries_[i];
      if (one.tag != dwarf::kInlinedSubroutine && one.tag != dwarf::kLexicalBlock) {
        continue;
      }
      std::vector<InlinedCall> inner = calls_in(i);
      if (const Declared* function = one.tag == dwarf::kInlinedSubroutine ? of(i) : nullptr) {
        calls.push_back({function, static_cast<unsigned>(one.call_file),
                         static_cast<unsigned>(one.call_line), std::move(inner)});
      } else {
        calls.insert(calls.end(), inner.begin(), inner.end());
      }
    }
    return calls;
  }

 private:
  /// The entry that declares what this one completes or is an instance of.
  std::size_t root_of(std::size_t entry) const {
    for (int steps = 0; entries_[entry].origin != 0 && steps < 8; ++steps) {
      const auto found = by_offset_.find(entries_[entry].origin);
      if (found == by_offset_.end()) {
        throw dwarf::Unreadable();
      }
      entry = found->second;
    }
    return entry;
  }

  void create(std::size_t index) { declared_.try_emplace(entries_[root_of(index)].offset); }

  void complete(std::size_t index) {
    const Entry& entry = entries_[index];
    Declared& declared = *of(index);
    declared.alignment = std::max(declared.alignment, entry.alignment);
    declared.is_generated = declared.is_generated || entry.is_generated;
    declared.is_external = declared.is_external || entry.is_external;
    if (declared.linkage_name.empty()) {
      declared.linkage_name = entry.linkage_name;
    }
    if (declared.line == 0) {
      declared.line = static_cast<unsigned>(entry.line);
      declared.file = static_cast<unsigned>(entry.file);
    }
  }

  void describe(std::size_t index) {
    const std::size_t root = root_of(index);
    Declared& declared = *of(root);
    const Entry& entry = entries_[root];
    const auto without_arguments = [](const std::string& name) {
      return name.rfind("operator", 0) == 0 ? name : name.substr(0, name.find('<'));
    };
    declared.name = without_arguments(entry.name);
    const Entry& parent = entries_[entry.parent];
    declared.is_lambda = is_class(parent) && parent.name.empty() && entry.name == "operator()";
    std::size_t scope = root;
    while (entries_[scope].parent != scope) {
      scope = entries_[scope].parent;
      const Entry& one = entries_[scope];
      if (one.tag == dwarf::kSubprogram || one.tag == dwarf::kInlinedSubroutine) {
        declared.is_local = true;
        declared.within = of(scope);
        break;
      }
      if ((one.tag == dwarf::kNamespace || is_class(one)) && !one.name.empty() &&
          one.name != "onepass") {
        declared.name = without_arguments(one.name) + "::" + declared.name;
      }
    }
  }

  const std::vector<Entry>& entries_;
  std::map<std::size_t, Declared>& declared_;
  std::map<std::size_t, std::size_t> by_offset_;
};

/// The name of its symbol, as far as it is told: C's is the name itself. What no other file can
/// name (it is static, or in an unnamed namespace) is told without one, and has a place.
std::string symbol_of(const Declared& declared) {
  return declared.linkage_name.empty() && declared.is_external ? declared.name
                                                               : declared.linkage_name;
}

/// By its place in the file, or by its name: an undefined symbol has no place.
template <typename T>
const T* find_by(const std::map<ObjectPlace, const T*>& by_place, const ObjectPlace& place,
                 const std::map<std::string, const T*>& by_name, const std::string& name) {
  const auto placed = by_place.find(place);
  if (place.first != 0 && placed != by_place.end()) {
    return placed->second;
  }
  const auto named = by_name.find(name);
  return named == by_name.end() ? nullptr : named->second;
}

}  // namespace

DebugInfo::DebugInfo(const std::string& object) {
  try {
    const std::vector<Entry> entries = dwarf::read_entries(object);
    const Declarations declarations(entries, declared_);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      const Declared* declared = entry.tag == dwarf::kSubprogram || entry.tag == dwarf::kVariable
                                     ? declarations.of(i)
                                     : nullptr;
      if (declared == nullptr) {
        continue;
      }
      const std::string name = symbol_of(*declared);
      if (entry.tag == dwarf::kVariable) {
        if (entry.has_place) {
          variables_by_place_[entry.place] = declared;
        }
        if (!name.empty()) {
          variables_by_name_[name] = declared;
        }
      } else if (entry.is_compiled) {
        functions_.push_back({declared, declarations.calls_in(i)});
        if (!name.empty()) {
          functions_by_name_[name] = &functions_.back();
        }
        if (entry.has_place) {
          functions_by_place_[entry.place] = &functions_.back();
        }
      }
    }
  } catch (const dwarf::Unreadable&) {  // then nothing is known
  }
}

const CompiledFunction* DebugInfo::function_of(const ObjectSymbol& symbol) const {
  // A part of a function that a compiler has split off has the function's name, and more.
  return find_by(functions_by_place_, symbol.place, functions_by_name_,
                 symbol.name.substr(0, symbol.name.find('.')));
}

const Declared* DebugInfo::variable_of(const ObjectSymbol& symbol) const {
  return find_by(variables_by_place_, symbol.place, variables_by_name_, symbol.name);
}

}  // namespace onepass::driver
