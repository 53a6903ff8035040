#include "driver/faults.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace onepass::driver {
namespace {

struct Advice {
  std::vector<int> errors;
  std::vector<const char*> words;  // by which programs tell it otherwise
  const char* text;
};

const std::vector<Advice>& all_advice() {
  static const std::vector<Advice> all = {
      {{},
       {"error while loading shared libraries"},
       "put the folders of the libraries that it needs into LD_LIBRARY_PATH"},
      {{ENOSPC, EDQUOT}, {}, "make room on its disk"},
      {{EFBIG}, {"File size limit exceeded"}, "raise the limit on the size of files (ulimit -f)"},
      {{EMFILE, ENFILE}, {}, "raise the limit on open files (ulimit -n)"},
      {{EAGAIN}, {}, "let other programs end, or raise the limit on processes (ulimit -u)"},
      {{ENOMEM},
       {"out of memory", "emory exhausted", "emory allocation failure", "bad_alloc", "Killed",
        "signal 9"},
       "let other programs end, or give it more memory (ulimit -v)"},
      {{EACCES, EPERM, EROFS}, {}, "see to its permissions"},
      {{}, {"did not end in time"}, "let other programs end"},
  };
  return all;
}

}  // namespace

std::string cannot(const std::string& action, int error) {
  std::string sentence = fmt::format("Cannot {} ({})", action, strerror(error));
  for (const Advice& advice : all_advice()) {
    for (const int one : advice.errors) {
      if (one == error) {
        return fmt::format("{}: {}.", sentence, advice.text);
      }
    }
  }
  return sentence + ".";
}

std::string advice_on(const std::string& output) {
  for (const Advice& advice : all_advice()) {
    std::vector<const char*> words = advice.words;
    for (const int error : advice.errors) {
      words.push_back(strerror(error));
    }
    for (const char* word : words) {
      if (output.find(word) != std::string::npos) {
        return advice.text;
      }
    }
  }
  return "";
}

}  // namespace onepass::driver
