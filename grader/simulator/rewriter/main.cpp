// onepass-rewrite IN.cu OUT.cpp [--path SHOWN] [--given FOLDER]: a .cu file as plain C++, line by
// line the same. FOLDER has the headers onepass/*.h that it may include.
// Exits with 0, or with 2 and one sentence when the input cannot be read or rewritten.
//
// onepass-rewrite --compiler-step COMMAND...: one of g++'s own steps, which hands over what it
// makes of that C++ (access_alignments.h).
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "access_alignments.h"
#include "rewrite.h"

namespace {

constexpr int kBadInput = 2;

int fail(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  return kBadInput;
}

int run(const std::string& input, const std::string& output, const std::string& shown_path,
        const std::string& given_folder) {
  std::ifstream in(input, std::ios::binary);
  std::ostringstream source;
  if (!in || !(source << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof())) {
    return fail(input + ": error: cannot read this file; check its name and its permissions");
  }
  std::string text;
  try {
    text = onepass::rewriter::rewrite(source.str(), shown_path, given_folder);
  } catch (const onepass::rewriter::RewriteError& error) {
    return fail((error.file().empty() ? shown_path : error.file()) + ":" +
                std::to_string(error.line()) + ": error: " + error.what());
  }
  std::ofstream out(output, std::ios::binary);
  if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    return fail(output + ": error: cannot write this file; check that its folder exists");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "--compiler-step") {
    return onepass::rewriter::run_compiler_step(argv + 2);
  }
  std::vector<std::string> paths;
  std::string shown_path, given_folder;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--path" && i + 1 < argc) {
      shown_path = argv[++i];
    } else if (argument == "--given" && i + 1 < argc) {
      given_folder = argv[++i];
    } else {
      paths.push_back(argument);
    }
  }
  if (paths.size() != 2) {
    return fail("usage: onepass-rewrite IN.cu OUT.cpp [--path SHOWN_PATH] [--given FOLDER]");
  }
  return run(paths[0], paths[1], shown_path.empty() ? paths[0] : shown_path, given_folder);
}
