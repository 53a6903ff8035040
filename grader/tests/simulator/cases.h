// Small kernels that each do one thing wrong, or nothing. The runner (simulator_test.cpp) launches
// every case and compares what the simulator found with what the case says:
//
//     CASE(name, "kind", {"words of the message"}, {{"writes", 32}, {"reads", 1}}) { ... }
//
// The kind is that of the first finding, behind "warning: " for a warning; "" means that nothing
// may be found. Then, as far as they are given, what its message must contain, and its parties: the
// comment at the end of their line, their thread, their block (both in x). A case without parties
// has a line that ends in the comment "here", which one of the parties must be at. Last, how many
// findings there are.
#pragma once

#include <string>
#include <utility>
#include <vector>

struct Who {
  const char* comment;
  unsigned thread;
  unsigned block = 0;
  const char* caller = nullptr;  // comment at the kernel's line that called it
  const char* does = nullptr;    // how what it does begins
};

struct Expected {
  std::string finds;
  std::vector<const char*> words = {};
  std::vector<Who> parties = {};
  std::size_t findings = 0;  // how many there are; 0: the first alone is looked at
  bool at_line = true;       // does it name a line?
};

struct Case {
  std::string name;
  Expected expected;
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> list;
  return list;
}

struct CaseEntry {
  explicit CaseEntry(Case entry) { cases().push_back(std::move(entry)); }
};

#define CASE(name, ...)                                                                 \
  static void run_##name();                                                             \
  static const CaseEntry entry_##name(Case{#name, Expected{__VA_ARGS__}, &run_##name}); \
  static void run_##name()
