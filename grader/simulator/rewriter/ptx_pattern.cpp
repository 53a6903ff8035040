#include "ptx_pattern.h"

#include "ptx_table.h"

namespace onepass::rewriter {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts = split(name, '.');
  for (std::size_t i = 1; i < parts.size(); ++i) parts[i].insert(0, ".");
  return parts;
}

bool is_one_of(const std::string& part, const std::string& choices) {
  for (const std::string& choice : split(choices, '|')) {
    if (choice[0] == '@' ? is_one_of(part, ptx_parts(choice)) : choice == part) return true;
  }
  return false;
}

namespace {

/// How many parts of the name, from `next` on, are one of the choices: 2 for ".release.cta".
std::size_t taken(const std::vector<std::string>& name, std::size_t next,
                  const std::string& choices) {
  for (const std::string& choice : split(choices, '|')) {
    if (choice[0] == '@') {
      if (const std::size_t count = taken(name, next, ptx_parts(choice))) return count;
      continue;
    }
    std::string parts;
    for (std::size_t i = next; i < name.size() && parts.size() < choice.size(); ++i) {
      parts += name[i];
      if (parts == choice) return i + 1 - next;
    }
  }
  return 0;
}

}  // namespace

// The lists of a pattern are disjoint where one of them may be absent, so the first that fits is
// the one that is meant.
bool fits(const std::string& pattern, const std::vector<std::string>& name) {
  std::size_t next = 0;
  for (std::string element : split(pattern, ' ')) {
    const bool may_be_absent = element.back() == '?';
    if (may_be_absent) element.pop_back();
    const std::size_t count = taken(name, next, element);
    if (count == 0 && !may_be_absent) return false;
    next += count;
  }
  return next == name.size();
}

}  // namespace onepass::rewriter
