// #include <onepass/fast.h>
//   becomes
// #ifndef ONEPASS_GIVEN_fast_h
// #define ONEPASS_GIVEN_fast_h
// #line 1 "grader/include/onepass/fast.h"
// (what it says)
// #endif
// #line 4 "forward.cu"
//
// if device code stands in it, or in a header that it includes. So launches, shared memory and
// whatever else a pass looks for are the same there as in the student's file, and the compiler's
// messages and debug information name the header. The other headers of onepass/ stay includes: the
// grader's own files include them too, and they are compiled once.
#include <fstream>
#include <set>
#include <sstream>

#include "passes.h"

namespace onepass::rewriter {
namespace {

bool is_device_code(const Token& token) {
  return token.is_any({"__device__", "__global__", "__shared__", "asm"});
}

// `#pragma once` would speak of the whole file.
std::string without_pragma_once(std::string text) {
  constexpr std::string_view kOnce = "#pragma once";
  if (const std::size_t at = text.find(kOnce); at != std::string::npos) {
    text.erase(at, kOnce.size());
  }
  return text;
}

class Includer {
 public:
  explicit Includer(const std::string& folder) : folder_(folder) {}

  std::string with_headers(std::string_view source, std::string_view path) {
    std::string result;
    std::size_t done = 0;
    for (const Include& include : includes_in(source)) {
      const std::string header = header_for(std::string(include.name));
      if (!header.empty()) {
        result += source.substr(done, include.begin - done);
        result += header + line_directive(include.next.number,
                                          include.next.file.empty() ? path : include.next.file);
        done = include.end;
      }
    }
    result += source.substr(done);
    return result;
  }

 private:
  // What stands in the place of an #include, up to its #line; "" if it stays.
  std::string header_for(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    std::ifstream file(path, std::ios::binary);
    if (name.rfind("onepass/", 0) != 0 || name.find("..") != std::string::npos || !file ||
        !open_.insert(name).second) {
      return "";
    }
    std::ostringstream text;
    text << file.rdbuf();
    const std::string whole = with_headers(without_pragma_once(text.str()), path);
    open_.erase(name);
    const Tokens tokens = tokenize(whole);
    if (std::none_of(tokens.begin(), tokens.end(), is_device_code)) {
      return "";
    }
    std::string guard = "ONEPASS_GIVEN_" + name.substr(name.find('/') + 1);
    std::replace_if(
        guard.begin(), guard.end(), [](char c) { return c == '.' || c == '/' || c == '-'; }, '_');
    return "#ifndef " + guard + "\n#define " + guard + "\n" + line_directive(1, path) + "\n" +
           whole + "\n#endif\n";
  }

  const std::string& folder_;
  std::set<std::string> open_;  // headers that include what is being looked at
};

}  // namespace

std::string with_given_headers(std::string_view source, std::string_view shown_path,
                               const std::string& given_folder) {
  return given_folder.empty() ? std::string(source)
                              : Includer(given_folder).with_headers(source, shown_path);
}

}  // namespace onepass::rewriter
