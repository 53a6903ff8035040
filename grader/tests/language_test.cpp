// Compiles the sources in language/ as the driver compiles a student's file: rewritten, with the
// simulator's headers and every warning an error. Where there is a CUDA toolkit, nvcc must take the
// same sources. And what cannot be simulated must stop the compile with a sentence.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "process/process.h"
#include "simulator/rewriter/rewrite.h"

namespace {

namespace fs = std::filesystem;

const fs::path kSources = fs::path(ONEPASS_SOURCE_DIR) / "grader/tests/language";
const fs::path kHeaders = fs::path(ONEPASS_SOURCE_DIR) / "grader/simulator/include";

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

fs::path working_folder() {
  const fs::path folder = fs::path(ONEPASS_BINARY_DIR) / "language_files";
  fs::create_directories(folder);
  return folder;
}

struct Compiled {
  bool ok;
  std::string messages;
};

Compiled run_compiler(const std::string& command) {
  const auto result = onepass::process::run({{"/bin/sh", "-c", command}}, 300);
  return {result.succeeded(), result.output};
}

Compiled compile(const std::string& source, const std::string& shown_path) {
  const fs::path rewritten = working_folder() / "rewritten.cpp";
  std::ofstream(rewritten) << onepass::rewriter::rewrite(source, shown_path);
  return run_compiler(ONEPASS_CXX_COMPILER
                      " -std=c++17 -fsyntax-only -Wall -Wextra -Werror "
                      "-isystem '" +
                      kHeaders.string() + "' '" + rewritten.string() + "'");
}

/// As CUDA names them, in the order of their names; without those that are refused.
std::vector<std::string> headers_of_cuda() {
  std::vector<std::string> headers;
  for (const auto& entry : fs::recursive_directory_iterator(kHeaders)) {
    const std::string name = entry.path().lexically_relative(kHeaders).string();
    const bool is_own = name.find("onepass") != std::string::npos;
    const bool is_refused =
        name == "mma.h" || name == "cuda_awbarrier.h" || name.rfind("thrust/", 0) == 0;
    if (entry.is_regular_file() && !is_own && !is_refused) headers.push_back(name);
  }
  std::sort(headers.begin(), headers.end());
  return headers;
}

void compiles(const std::string& source) {
  const fs::path file = working_folder() / "headers.cpp";
  std::ofstream(file) << source;
  const Compiled result =
      run_compiler(ONEPASS_CXX_COMPILER " -std=c++17 -fsyntax-only -Wall -Wextra -Werror -I '" +
                   kHeaders.string() + "' '" + file.string() + "'");
  CAPTURE(source);
  CAPTURE(result.messages);
  CHECK(result.ok);
}

void stops_with(const std::string& source, const std::string& sentence, const std::string& place) {
  const Compiled result = compile(source, "student.cu");
  CAPTURE(result.messages);
  CHECK(!result.ok);
  CHECK(result.messages.find(sentence) != std::string::npos);
  CHECK(result.messages.find("grade this on a GPU") != std::string::npos);
  CHECK(result.messages.find(place) != std::string::npos);
}

}  // namespace

TEST_SUITE("CUDA's language") {
  TEST_CASE("every source compiles without a warning") {
    int sources = 0;
    for (const auto& entry : fs::directory_iterator(kSources)) {
      const Compiled result = compile(contents(entry.path()), entry.path().string());
      CAPTURE(entry.path().string());
      CAPTURE(result.messages);
      CHECK(result.ok);
      ++sources;
    }
    CHECK(sources >= 5);
  }

#ifdef ONEPASS_NVCC
  TEST_CASE("nvcc takes the same sources, and the cases of given headers") {
    const fs::path grader = fs::path(ONEPASS_SOURCE_DIR) / "grader";
    std::vector<fs::path> sources{grader / "tests/simulator/channels_header_cases.cu",
                                  grader / "tests/simulator/fast_header_cases.cu",
                                  grader / "tests/simulator/ring_header_cases.cu"};
    for (const auto& entry : fs::directory_iterator(kSources)) {
      sources.push_back(entry.path());
    }
    for (const fs::path& source : sources) {
      const fs::path output = working_folder() / "nvcc.ptx";
      const Compiled result =
          run_compiler("'" ONEPASS_NVCC "' -std=c++17 -arch=sm_90 -ptx -I '" + grader.string() +
                       "' -I '" + (grader / "include").string() + "' -o '" + output.string() +
                       "' '" + source.string() + "'");
      CAPTURE(source.string());
      CAPTURE(result.messages);
      CHECK(result.ok);
    }
  }
#endif

  TEST_CASE("each header can be included alone, and before and behind the others") {
    const std::vector<std::string> headers = headers_of_cuda();
    CHECK(headers.size() >= 40);
    std::string forwards, backwards;
    for (const std::string& header : headers) {
      const std::string line = "#include <" + header + ">\n";
      compiles(line);
      forwards += line;
      backwards = line + backwards;
    }
    compiles(forwards);
    compiles(backwards);
  }

  TEST_CASE("what cannot be simulated stops the compile with its reason and place") {
    stops_with("\n__device__ void f() { asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\"); }\n",
               "the PTX instruction setmaxnreg.dec", "student.cu:2");
    for (const char* header : {"mma.h", "thrust/device_vector.h"}) {
      stops_with(std::string("#include <") + header + ">\n", header, "student.cu:1");
    }
    stops_with(
        "#include <cooperative_groups.h>\n"
        "__global__ void k() { cooperative_groups::this_grid().barrier_arrive(); }\n",
        "the grid's barrier in two halves", "student.cu:2");
    stops_with("\n__global__ void k(float4* x) { atomicAdd(x, *x); }\n", "atomicAdd() of float4",
               "student.cu:2");
    stops_with("\n__global__ void __block_size__((128, 1, 1)) k() {}\n", "__block_size__",
               "student.cu:2");
  }

  TEST_CASE("what nvcc does not allow of shared memory is refused in its words") {
    const auto initialised = [](const std::string& declaration) {
      return compile("\n__global__ void k() { " + declaration + " }\n", "student.cu");
    };
    for (const char* declaration :
         {"__shared__ float s[4] = {0};", "__shared__ float s{};", "__shared__ float a, s = 1;"}) {
      const Compiled result = initialised(declaration);
      CAPTURE(result.messages);
      CHECK(!result.ok);
      CHECK(result.messages.find("student.cu:2:") == 0);
      CHECK(result.messages.find("initializer not allowed for __shared__ variable") !=
            std::string::npos);
    }
    CHECK(initialised("\n#ifdef UNKNOWN\n__shared__ float s = 1;\n#endif\n").ok);
  }

  TEST_CASE("inline PTX does no harm where only nvcc looks, and is looked at in device functions") {
    const auto text = [](const char* macro, const char* function) {
      return std::string("\n#ifdef ") + macro + "\n" + function + " { asm(\"x;\"); }\n#endif\n";
    };
    CHECK(compile(text("__NVCC__", "__device__ void f()"), "student.cu").ok);
    stops_with(text("__CUDA_ARCH__", "__device__ void f()"), "x cannot be simulated",
               "student.cu:3");
    const std::string inside = "__device__ void g() {" + text("__CUDA_ARCH__", "if (true)") + "}\n";
    stops_with(inside, "x cannot be simulated", "student.cu:3");
    CHECK(compile("__host__ " + inside, "student.cu").ok);
  }

  TEST_CASE("operands of asm that do not go with their constraints are refused in nvcc's words") {
    for (const char* operands : {": \"=r\"(l)", ": \"=r\"(f)", ": \"=f\"(i)", ":: \"r\"(c)",
                                 ":: \"l\"(i)", ":: \"d\"(f)"}) {
      const Compiled result = compile(
          std::string(
              "__device__ void f() {\n[[maybe_unused]] int i = 0; [[maybe_unused]] long l = "
              "0;\n[[maybe_unused]] float f = 0; [[maybe_unused]] char c = 0;\nasm(\"\" ") +
              operands + ");\n}\n",
          "student.cu");
      CAPTURE(operands);
      CAPTURE(result.messages);
      CHECK(!result.ok);
      CHECK(result.messages.find("does not match type/size implied by its constraint") !=
            std::string::npos);
      CHECK(result.messages.find("student.cu:4") != std::string::npos);
    }
  }

  TEST_CASE("a wrong argument is told at the launch's line") {
    const Compiled result = compile(
        "__global__ void k(float* x, int n) { x[0] = n; }\n\nvoid f(double* x) {\n"
        "  k<<<1, 32>>>(x, 3);\n}\n",
        "student.cu");
    CAPTURE(result.messages);
    CHECK(!result.ok);
    CHECK(result.messages.find("student.cu:4:") != std::string::npos);
  }

  // What the simulator takes must not be more than nvcc takes.
  TEST_CASE("what nvcc refuses is refused") {
    const std::string head = "#include <cuda_fp16.h>\n__device__ void f(__half h, float x) {\n";
    CHECK(!compile(head + "(void)(h + x);\n}\n", "student.cu").ok);
    CHECK(
        !compile(head + "short s = 1; atomicAdd(&s, s); (void)h; (void)x;\n}\n", "student.cu").ok);
  }
}
