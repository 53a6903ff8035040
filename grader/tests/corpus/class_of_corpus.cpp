// A class drawn from the corpus, to measure what grading one costs:
//
//   class_of_corpus <folder> <students> <seed>
//
// Of each exercise a student hands in the skeleton (one in four), the solution (one in four), or a
// right, wrong or hostile entry that is not slow.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "driver/files.h"
#include "tests/corpus/corpus.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  using namespace onepass;
  if (argc != 4) {
    std::fputs("class_of_corpus <folder> <students> <seed>\n", stderr);
    return 2;
  }
  const fs::path repository = ONEPASS_SOURCE_DIR;
  std::map<fs::path, std::vector<std::string>> texts;  // by the file's place
  for (const corpus::Entry& entry : corpus::entries(repository)) {
    if (entry.slow.empty() && entry.needs.empty()) {
      texts[entry.source].push_back(entry.text);
    }
  }
  std::mt19937 random(static_cast<unsigned>(std::atoi(argv[3])));
  for (int student = 0; student < std::atoi(argv[2]); ++student) {
    char name[32];
    std::snprintf(name, sizeof name, "student%03d", student);
    for (const auto& [file, entries] : texts) {
      const auto drawn = random() % 4;
      const std::string text = drawn == 0   ? driver::read_file(repository / "exercises" / file)
                               : drawn == 1 ? driver::read_file(repository / "solutions" / file)
                                            : entries[random() % entries.size()];
      driver::write_file(fs::path(argv[1]) / name / file, text);
    }
  }
}
