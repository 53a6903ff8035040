// Which headers an exercise may include.
#include "driver/includes.h"

#include <doctest/doctest.h>

#include "driver/files.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

TEST_CASE("a make rule over several lines, with blanks in names") {
  const auto files =
      parse_dependencies("binding.o: a.cu \\\n /usr/my\\ headers/b.h \\\n  c$$d.h\n");
  CHECK(files == std::vector<fs::path>{"a.cu", "/usr/my headers/b.h", "c$d.h"});
  CHECK(parse_dependencies("").empty());
  const std::string endless(1 << 20, 'A');
  CHECK(parse_dependencies("binding.o: " + endless + " b.h") ==
        std::vector<fs::path>{endless, "b.h"});
}

TEST_CASE("allowed are the given folders, all that is in them, and nothing that merely begins so") {
  const ScratchFolder scratch(fs::temp_directory_path());
  for (const char* name : {"contract/a.h", "contract/deep/b.h", "contracts/c.h", "other/d.h"}) {
    write_file(scratch.path() / name, "");
  }
  const std::vector<fs::path> allowed = {scratch.path() / "contract/"};
  const auto forbidden = [&](const char* name) {
    return first_forbidden({scratch.path() / name}, allowed).has_value();
  };
  CHECK_FALSE(forbidden("contract/a.h"));
  CHECK_FALSE(forbidden("contract/deep/b.h"));
  CHECK(forbidden("contracts/c.h"));
  CHECK(forbidden("other/d.h"));
  CHECK(forbidden("contract/../other/d.h"));
  fs::create_symlink(scratch.path() / "other", scratch.path() / "contract/link");
  CHECK(forbidden("contract/link/d.h"));
}

TEST_CASE("the error names the student's #include") {
  const CompileError error =
      forbidden_include("/repo/solutions/01_rmsnorm/forward.cu",
                        "// mine\n#include <cstdint>\n#  include \"../forward.cu\"\n", "mine.cu");
  CHECK(error.location == "mine.cu:3");
  CHECK(error.message.find("not forward.cu") != std::string::npos);
}

TEST_CASE("a header of CUDA's that the simulator does not have, found in a toolkit") {
  const std::string source = "#include <vector>\n# include <curand_kernel.h>\nint i;\n";
  const auto told = [&](const std::string& location) {
    return with_refused_header({"'curandState' was not declared in this scope", location}, source)
        .message;
  };
  CHECK(
      told("mine.cu:2") ==
      "<curand_kernel.h> (a library of CUDA's) cannot be simulated on a CPU: grade this on a GPU");
  for (const char* location : {"mine.cu:1", "mine.cu:3", "mine.cu:4", "mine.cu:0", "mine.cu", ""}) {
    CHECK(told(location) == "'curandState' was not declared in this scope");
  }
}
