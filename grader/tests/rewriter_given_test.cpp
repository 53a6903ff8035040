// The rewriter: headers that an exercise is given come into the text, if they have device code.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/rewriter_texts.h"

namespace {

namespace fs = std::filesystem;

/// A folder with onepass/*.h, which is gone with the object.
class GivenFolder {
 public:
  GivenFolder() : path_(fs::temp_directory_path() / ("given_test_" + std::to_string(getpid()))) {
    fs::create_directories(path_ / "onepass");
  }
  ~GivenFolder() { fs::remove_all(path_); }
  GivenFolder(const GivenFolder&) = delete;
  GivenFolder& operator=(const GivenFolder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / "onepass" / name) << text;
  }
  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / "onepass" / name).string(); }

 private:
  fs::path path_;
};

std::string rewritten_with(const GivenFolder& folder, const std::string& source) {
  const std::string text = onepass::rewriter::rewrite(source, "student.cu", folder.path());
  const std::string head = "#include <cuda_runtime.h>\n#line 1 \"student.cu\"\n";
  REQUIRE(text.substr(0, head.size()) == head);
  return text.substr(head.size());
}

}  // namespace

TEST_SUITE("given headers") {
  TEST_CASE("a header with device code comes into the text, with its own lines") {
    const GivenFolder folder;
    folder.write("a.h", "#pragma once\n__device__ int f();\nvoid g() { k<<<1, 32>>>(); }\n");
    const std::string begin = "#ifndef ONEPASS_GIVEN_a_h\n#define ONEPASS_GIVEN_a_h\n#line 1 \"" +
                              folder.file("a.h") + "\"\n";
    const std::string whole =
        begin + "\n__device__ int f();\nvoid g() { ONEPASS_LAUNCH(k)(1, 32)(); }\n\n#endif\n";
    CHECK(rewritten_with(folder, "int a;\n#include <onepass/a.h>  // it\nint b;\n") ==
          "int a;\n" + whole + "#line 3 \"student.cu\"\nint b;\n");
    CHECK(rewritten_with(folder, "#include \"onepass/a.h\"") == whole + "#line 2 \"student.cu\"");
  }

  TEST_CASE("others stay includes") {
    const GivenFolder folder;
    folder.write("plain.h", "#pragma once\nconstexpr int kMost = 4;  // __device__\n");
    folder.write("a.h", "__device__ int f();\n");
    for (const std::string source :
         {"#include <onepass/plain.h>\n", "#include <onepass/none.h>\n", "#include <a.h>\n",
          "#include <onepass/../onepass/a.h>\n", "#include <cuda_fp16.h>\n",
          "// #include <onepass/a.h>\n", "#if 0\n#include <onepass/a.h>\n#endif\n"}) {
      CHECK(rewritten_with(folder, source) == source);
    }
    CHECK(rewritten("#include <onepass/a.h>\n") == "#include <onepass/a.h>\n");
  }

  TEST_CASE("what a header includes comes with it") {
    const GivenFolder folder;
    folder.write("inner.h", "__shared__ alignas(16) int s;\n");
    folder.write("outer.h", "#include <onepass/inner.h>\nint x;\n");
    const std::string text = rewritten_with(folder, "#include <onepass/outer.h>\nint y;\n");
    CHECK(contains(text, "#line 1 \"" + folder.file("inner.h") +
                             "\"\n alignas(16) __shared__ int s;\n\n#endif\n#line 2 \"" +
                             folder.file("outer.h") +
                             "\"\nint x;\n\n#endif\n#line 2 "
                             "\"student.cu\"\nint y;\n"));
  }

  TEST_CASE("the passes see one text") {
    const GivenFolder folder;
    folder.write("a.h",
                 "extern __shared__ float ring[];\n"
                 "#define GIVEN_BOUNDS(n) __global__ void __launch_bounds__(n)\n");
    const std::string text =
        rewritten_with(folder, "#include <onepass/a.h>\nGIVEN_BOUNDS(256) k() { ring[0] = 0; }\n");
    CHECK(contains(text,
                   "{ [[maybe_unused]] float *const ring = ONEPASS_DYNAMIC_SHARED; "
                   "ONEPASS_LAUNCH_BOUNDS_OF_GIVEN_BOUNDS(256);"));
    CHECK(contains(text, "#line 2\n#define GIVEN_BOUNDS(n)"));
  }

  TEST_CASE("lines are counted anew behind a #line") {
    const GivenFolder folder;
    folder.write("a.h", "__device__ int f();\n\nvoid g() { k<<<1, 32>>>; }\n");
    try {
      onepass::rewriter::rewrite("#include <onepass/a.h>\n", "student.cu", folder.path());
      FAIL("no error");
    } catch (const onepass::rewriter::RewriteError& error) {
      CHECK(error.line() == 3);
      CHECK(error.file() == folder.file("a.h"));
    }
    folder.write("a.h", "__device__ int f();\n\n");
    try {
      onepass::rewriter::rewrite("\n#include <onepass/a.h>\n\nk<<<1, 32>>>;\n", "student.cu",
                                 folder.path());
      FAIL("no error");
    } catch (const onepass::rewriter::RewriteError& error) {
      CHECK(error.line() == 4);
      CHECK(error.file() == "student.cu");
    }
    error_of("#line 40\n\nk<<<1, 32>>>;\n", 41);
  }
}
