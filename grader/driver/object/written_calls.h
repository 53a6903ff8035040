// Who calls whom in a file, before the compiler inlines or folds anything: of a call whose result
// it knows, nothing is left in the object. g++ tells it in two dumps: the functions as they are
// written have their attributes and the lines of their calls, the table of symbols says which one
// is called.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace onepass::driver {

struct WrittenFunction;

struct WrittenCall {
  const WrittenFunction* callee;
  std::string file;
  unsigned line;  // 0 if it is not known
};

struct WrittenFunction {
  std::string name;             // "Host::get": without template arguments
  std::string file;             // that its statements stand in; "" if it has none
  std::uint64_t alignment = 0;  // as the source has it; 0 if it says nothing
  bool is_generated = false;    // the compiler's own
  bool is_lambda = false;
  std::vector<WrittenCall> calls;
};

/// By the numbers that the compiler gives its symbols.
using WrittenFunctions = std::map<unsigned, WrittenFunction>;

/// What g++ is asked for, to be written to these files.
std::vector<std::string> options_for_written_calls(const std::string& functions,
                                                   const std::string& symbols);

/// Of the text of the two dumps. What cannot be read is left out.
WrittenFunctions read_written_calls(const std::string& functions, const std::string& symbols);

}  // namespace onepass::driver
