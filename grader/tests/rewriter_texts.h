// What the rewriter's tests say of a text: that it becomes another one, stays, or is refused.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "simulator/rewriter/rewrite.h"

// The rewritten text without its first #line.
inline std::string rewritten_longer(const std::string& source) {
  const std::string text = onepass::rewriter::rewrite(source, "student.cu");
  const bool has_ptx = text.find("OnepassPtx") != std::string::npos;
  const std::string header = has_ptx ? "onepass_simulator/ptx.h" : "cuda_runtime.h";
  const std::string head = "#include <" + header + ">\n#line 1 \"student.cu\"\n";
  REQUIRE(text.substr(0, head.size()) == head);
  return text.substr(head.size());
}

// Of a text that gets no more lines.
inline std::string rewritten(const std::string& source) {
  std::string rest = rewritten_longer(source);
  CHECK(std::count(rest.begin(), rest.end(), '\n') ==
        std::count(source.begin(), source.end(), '\n'));
  return rest;
}

inline void unchanged(const std::string& source) {
  CHECK(rewritten(source) == source);
}

inline std::string error_of(const std::string& source, int line) {
  try {
    onepass::rewriter::rewrite(source, "student.cu");
  } catch (const onepass::rewriter::RewriteError& error) {
    CHECK(error.line() == line);
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
