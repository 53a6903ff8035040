// Tries a target on each file named, and on all files of each folder: without a fuzzer, so that
// what one has found stays found wherever the tests run.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/target.h"

namespace fs = std::filesystem;

namespace {

int tried = 0;

void try_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string input((std::istreambuf_iterator<char>(stream)), {});
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);  // should it be the last one
  onepass::fuzz::try_input(input);
  ++tried;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      try_file(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) {
        try_file(entry.path());
      }
    }
  }
  return tried > 0 ? 0 : 1;
}
