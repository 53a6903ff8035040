// Small kernels that each do one thing wrong, or nothing. The runner (simulator_test.cpp) launches
// every case and compares what the simulator found with what the case says.
#pragma once

#include <vector>

struct Case {
  const char* name;
  const char* finds;  // the kind of the one finding; "" for none
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> list;
  return list;
}

struct CaseEntry {
  explicit CaseEntry(const Case& entry) { cases().push_back(entry); }
};

#define CASE(name, finds)                                           \
  static void run_##name();                                         \
  static const CaseEntry entry_##name({#name, finds, &run_##name}); \
  static void run_##name()

/// A kernel's line that must be named in the finding carries this comment: // here
