// The worker's side of Arguments: what the names of one call stand for, and how the call is made.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "worker/arguments.h"

namespace onepass::worker {

struct ArgumentTable {
  std::map<std::string, void*> buffers;   // device pointers, null where the request says so
  std::map<std::string, double> scalars;  // integers are exact to 2^53
  void* stream = nullptr;
};

/// The binding asked for a name or a kind of number that the request does not have.
struct MissingArgument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls the function. Returns "" or, if the launcher threw an exception, a sentence that says so.
std::string enter(const Function& function, const ArgumentTable& table);

}  // namespace onepass::worker
