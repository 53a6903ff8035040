// The table of CUDA's names is true: what it calls simulated compiles, and a use of anything else
// gets its sentence, never the compiler's own words.
#include "driver/cuda_names.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <regex>
#include <string>

#include "driver/compile_errors.h"
#include "driver/files.h"
#include "driver/object/names.h"
#include "driver/text.h"
#include "process/process.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

const std::string kHeaders =
    "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    "#include <cuda_fp8.h>\n#include <cooperative_groups.h>\n#include "
    "<cooperative_groups/reduce.h>\n"
    "#include <cooperative_groups/memcpy_async.h>\n#include <cuda_pipeline.h>\n"
    "#include <cub/cub.cuh>\n#line 1\n";

std::string messages_on(const std::string& text) {
  const ScratchFolder folder(fs::temp_directory_path());
  write_file(folder.path() / "names.cpp", kHeaders + text);
  const std::string command =
      fmt::format("cd '{}' && LC_ALL=C " ONEPASS_CXX_COMPILER
                  " -std=c++17 -fsyntax-only -w -fno-diagnostics-show-caret -isystem "
                  "'" ONEPASS_SOURCE_DIR "/grader/simulator/include' names.cpp",
                  folder.path().string());
  return onepass::process::run({{"/bin/sh", "-c", command}}, 120).output;
}

bool is_header(const std::string& name) {
  return name.find_first_of("./") != std::string::npos;
}

bool is_declared(const std::string& section) {
  return section == "simulated" || section == "accepted without effect";
}

/// Without its scope.
std::string own(const std::string& name) {
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

/// The class, if the name is a member's.
std::string class_of(const std::string& name) {
  const std::string scope = name.substr(0, name.size() - own(name).size());
  if (scope.empty() || scope == "cooperative_groups::" || scope == "cub::") {
    return "";
  }
  const std::string type = scope.substr(0, scope.size() - 2);
  return type == "cooperative_groups::thread_block_tile" ? type + "<32>" : type;
}

}  // namespace

TEST_SUITE("CUDA's names") {
  TEST_CASE("what is simulated, or accepted without effect, is declared") {
    std::string text = "namespace uses {\n";
    int count = 0;
    for (const auto& [name, section] : cuda_names()) {
      if (const std::string type = class_of(name); is_declared(section) && !type.empty()) {
        text += type == "cudaLaunchAttributeValue"  // a union
                    ? fmt::format("using U{} = decltype({});\n", count, name)
                    : fmt::format("struct U{} : {} {{ using {}::{}; }};\n", count, type, type,
                                  own(name));
        ++count;
      } else if (is_declared(section)) {
        const char* const scope = name.find("::") == std::string::npos ? "::" : "";
        text += fmt::format("#ifndef {}\nusing {}{};\n#endif\n", own(name), scope, name);
        ++count;
      }
    }
    CHECK(count > 700);
    CHECK(messages_on(text + "}\n") == "");
  }

  TEST_CASE("a use of every other name gets its sentence") {
    std::string text;
    std::vector<std::string> names;
    for (const auto& [name, section] : cuda_names()) {
      if (!is_declared(section) && !is_header(name)) {
        names.push_back(name);
        const std::string type = class_of(name);
        text += type.empty() ? fmt::format("void use{}() {{ (void){}; }}\n", names.size(), name)
                             : fmt::format("void use{}({}* x) {{ (void)x->{}; }}\n", names.size(),
                                           type, own(name));
      }
    }
    CHECK(names.size() > 1300);
    std::map<std::string, std::string> by_line;  // of the compiler's output
    for (const std::string& line : lines_of(messages_on(text))) {
      const std::size_t number = line.find(':') + 1;
      by_line[line.substr(number, line.find(':', number) - number)] += line + "\n";
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto error = first_error(by_line[std::to_string(i + 1)], "names.cpp", "binding", true);
      CAPTURE(names[i]);
      CAPTURE(by_line[std::to_string(i + 1)]);
      REQUIRE(error);
      const bool is_told = error->message.find("cannot be simulated") != std::string::npos ||
                           error->message.find("is not for exercises") != std::string::npos ||
                           error->message.find("is gone ") != std::string::npos;
      CHECK(is_told);
      CHECK(error->message.rfind(names[i], 0) == 0);
    }
  }

  TEST_CASE("nobody is sent to a GPU with what no device lets through") {
    const auto told = [](const std::string& name) {
      return about_cuda_name("'" + name + "' was not declared in this scope").value();
    };
    int count = 0;
    for (const auto& [name, section] : cuda_names()) {
      if (section.rfind("refused: ", 0) == 0 && name.rfind("cuda", 0) == 0 && own(name) == name &&
          !is_header(name) && told(name).find("is not for exercises") != std::string::npos) {
        CAPTURE(name);
        CHECK_FALSE(may_ask_for(name));
        ++count;
      }
    }
    CHECK(count > 400);
    for (const char* name : {"cudaGraphLaunch", "cudaStreamBeginCapture", "cudaLaunchHostFunc",
                             "cudaMallocPitch", "cudaMemPoolCreate"}) {
      CHECK(told(name).find("on a GPU neither") != std::string::npos);
    }
    for (const char* name : {"cudaStreamCreateWithPriority", "cudaDevAttrMaxPitch",
                             "cudaErrorStreamCaptureImplicit", "__dp4a"}) {
      CHECK(told(name).find("grade this on a GPU") != std::string::npos);
    }
  }

  TEST_CASE("every header that is not simulated gets its sentence") {
    for (const auto& [name, section] : cuda_names()) {
      if (is_header(name)) {
        const std::string header =
            name.back() == '*' ? name.substr(0, name.size() - 1) + "x/y.cuh" : name;
        const auto told = about_cuda_name(header + ": No such file or directory");
        CAPTURE(name);
        REQUIRE(told);
        CHECK(told->find("<" + header + "> (") == 0);
      }
    }
  }

  TEST_CASE(
      "the page of the docs lists every kind, with the number of its names and some of them") {
    static const std::regex prefix("^(refused: |(replaced):.*)");
    static const std::regex row(R"(\n\| ([^|*]+) \| (\d+) \|([^\n]*))");
    static const std::regex example("`([^`(]+)(\\(\\))?`");
    std::map<std::string, int> counts, on_page;
    for (const auto& [name, section] : cuda_names()) {
      ++counts[std::regex_replace(section, prefix, "$2")];
    }
    const std::string page = read_file(ONEPASS_SOURCE_DIR "/docs/simulator_api.md");
    for (std::sregex_iterator found(page.begin(), page.end(), row), end; found != end; ++found) {
      const std::string kind = (*found)[1], examples = (*found)[3];
      on_page[kind] = std::stoi((*found)[2]);
      for (std::sregex_iterator name(examples.begin(), examples.end(), example); name != end;
           ++name) {
        CAPTURE((*name)[1].str());
        const auto known = cuda_names().find((*name)[1]);
        CHECK((known != cuda_names().end() && known->second == "refused: " + kind));
      }
    }
    for (const auto& [kind, count] : counts) {
      CHECK_MESSAGE(on_page[kind] == count, kind, " has ", count, " names: api/count.py");
    }
    for (const auto& [kind, count] : on_page) {
      CHECK_MESSAGE(counts.count(kind) == 1, "there is no kind ", kind);
    }
  }

  TEST_CASE("a name in each of g++'s messages") {
    const std::string graph = "cudaGraph_t (CUDA graphs) is not for exercises, on a GPU neither";
    for (const char* line :
         {"void f(cudaGraph_t g) {}", "cudaGraph_t graph;", "void f() { ::cudaGraph_t graph; }",
          "void f() { int i = sizeof(cudaGraph_t); }", "cudaGraph_t f();",
          "struct S { cudaGraph_t graph; };",
          "template <typename T> void f(T x, cudaGraph_t g) {}"}) {
      const auto error = first_error(messages_on(line), "names.cpp", "binding", true);
      CAPTURE(line);
      REQUIRE(error);
      CHECK(error->told("") == "names.cpp:1: " + graph);
      CHECK(error->is_theirs);
    }
    for (const char* line :
         {"template <typename T> void f(T x) { __dp4a(1, 2, 3); }", "void f() { __dp4a(1, 2, 3); }",
          "template <typename T> void f(T x) { __dp4a(x, 2, 3); } void g() { f(1); }",
          "namespace cg = cooperative_groups; void f() { auto c = cg::this_thread(); }",
          "namespace cg = cooperative_groups; cg::thread_group_base c;",
          "namespace cg = cooperative_groups; void f(const cg::thread_group& g) {}",
          "template <typename T> using Sort = cub::BlockRadixSort<T, 128, 4>;",
          "void f() { cub::DeviceReduce::Sum(nullptr, 1); }",
          "using cooperative_groups::inclusive_scan;",
          "void f() { cooperative_groups::invoke_one(1); }",
          "const cudaDeviceProp properties = {}; auto uuid = properties.uuid;",
          "using P = cudaDeviceProp; P properties; auto uuid = properties.uuid;",
          "auto uuid = &cudaDeviceProp::uuid;",
          "void f(dim3 d) { cudaDeviceProp p = {.mpsEnabled = 1}; }",
          "template <typename T> void f(T x) { x.val.preferredClusterDim.x = 2; } template void "
          "f(cudaLaunchAttribute);",
          "namespace cg = cooperative_groups; void f(cg::thread_block b) { b.barrier_arrive(); }",
          "namespace cg = cooperative_groups; auto f = cg::thread_block::barrier_arrive();",
          "namespace cg = cooperative_groups; template <int n> void f() { int all; "
          "cg::tiled_partition<n>(cg::this_thread_block()).match_all(1, all); } template void "
          "f<8>();"}) {
      const auto error = first_error(messages_on(line), "names.cpp", "binding", true);
      CAPTURE(line);
      REQUIRE(error);
      CAPTURE(error->message);
      CHECK(error->message.find("cannot be simulated on a CPU") != std::string::npos);
    }
  }

  TEST_CASE("a name of CUDA's C++ libraries that is in no header of the simulator's") {
    const auto told = [](const std::string& line, const std::string& name) {
      const auto error = first_error(
          messages_on("#include <cuda/ptx>\n#include <cuda/barrier>\n#include <cuda/std/utility>\n"
                      "namespace ptx = cuda::ptx;\n#line 1\n" +
                      line),
          "names.cpp", "binding", true);
      CAPTURE(line);
      REQUIRE(error);
      CHECK(error->message ==
            "the simulator has no " + name +
                ": if CUDA has it, it cannot be simulated on a CPU: grade this on "
                "a GPU");
    };
    told("void f() { cuda::ptx::get_sreg_laneid(); }", "cuda::ptx::get_sreg_laneid");
    told("template <typename T> void f(T* x) { ptx::mapa(ptx::space_cluster, x, 1u); }",
         "cuda::ptx::mapa");
    told("using ptx::red_async;", "cuda::ptx::red_async");
    told("int f() { return cub::LaneId(); }", "cub::LaneId");
    told("float f(float* x) { return cub::ThreadLoad<cub::LOAD_LDG>(x); }", "cub::ThreadLoad");
    told("using Input = cub::CacheModifiedInputIterator<cub::LOAD_LDG, float>;",
         "cub::CacheModifiedInputIterator");
    told("float f(float& x) { return cuda::std::exchange(x, 1.0f); }", "cuda::std::exchange");
    told("int f() { return cuda::ceil_div(5, 2); }", "cuda::ceil_div");
    told("bool f(cuda::barrier<cuda::thread_scope_block>& b) { return b.try_wait_parity_for(1); }",
         "cuda::barrier::try_wait_parity_for");
    const auto own =
        first_error(messages_on("namespace mine {}\nint f() { return mine::mapa(1); }"),
                    "names.cpp", "binding", true);
    REQUIRE(own);
    CHECK(own->message == "'mapa' is not a member of 'mine'");
  }

  TEST_CASE("a name of CUDA's C++ libraries for short") {
    const auto told = [](const std::string& scope, const std::string& line) {
      const std::string source = "#include <cuda/barrier>\nnamespace onepass {\n" + scope + "\n";
      const auto error = first_error(messages_on(source + "#line 1\n" + line + "\n}"), "names.cpp",
                                     "binding", true);
      REQUIRE(error);
      return about_short_name(error->message, source).value_or(error->message);
    };
    const std::string sentence =
        "the simulator has no cuda::ptx::mapa: if CUDA has it, it cannot be simulated on a CPU: "
        "grade this on a GPU";
    CHECK(told("namespace p = cuda::ptx;", "int f() { return p::mapa(1); }") == sentence);
    CHECK(told("namespace ptx = ::cuda::ptx;", "int f() { return ptx::mapa(1); }") == sentence);
    const std::string maybe =
        " (if cuda::ptx::mapa is meant: the simulator has none, grade this on a GPU)";
    CHECK(told("using namespace cuda::ptx;", "int f() { return mapa(1); }") ==
          "'mapa' was not declared in this scope" + maybe);
    CHECK(
        told("using namespace cuda::ptx;", "template <typename T> T f(T x) { return x + mapa(1); }")
            .find(maybe) != std::string::npos);
    CHECK(told("namespace p = cuda::ptx;", "int f() { return mapa(1); }") ==
          "'mapa' was not declared in this scope");
    CHECK(told("namespace mine {} namespace p = mine;", "int f() { return p::mapa(1); }") ==
          "'mapa' is not a member of 'onepass::p'");
    CHECK(told("using namespace cooperative_groups;", "void f() { binary_partition(1, true); }")
              .find("cannot be simulated on a CPU: grade this on a GPU") != std::string::npos);
  }

  TEST_CASE("a member that is gone from CUDA gets what there is instead") {
    const auto error = first_error(messages_on("int f(cudaDeviceProp p) { return p.clockRate; }"),
                                   "names.cpp", "binding", true);
    REQUIRE(error);
    CHECK(
        error->message ==
        "cudaDeviceProp::clockRate is gone since CUDA 13: ask cudaDeviceGetAttribute(), which has "
        "an attribute for it");
  }

  TEST_CASE("a member that CUDA does not have keeps the compiler's words") {
    for (const char* line :
         {"int f(cudaDeviceProp p) { return p.multiProcesorCount; }",
          "struct Mine { int uid; }; int f(Mine m) { return m.uuid; }",
          "namespace onepass { struct cudaDeviceProp {}; int f(cudaDeviceProp m) { return m.uuid; "
          "} }",
          "int f(dim3 d) { return d.w; }",
          "namespace cg = cooperative_groups; void f(cg::thread_block b) { b.sink(); }"}) {
      const auto error = first_error(messages_on(line), "names.cpp", "binding", true);
      CAPTURE(line);
      REQUIRE(error);
      CHECK(error->message.find("has no member named '") != std::string::npos);
    }
  }

  TEST_CASE("what is no name of CUDA's keeps the compiler's words") {
    for (const char* message :
         {"'cudaGraphics_' was not declared in this scope", "'wait' is not a member of 'std'",
          "'lane' was not declared in this scope; did you mean 'lane_'?",
          "'cudaMalloc' was not declared in this scope", "my/own.h: No such file or directory",
          "expected ';' before '}' token", "'exclusive_scan' was not declared in this scope"}) {
      CAPTURE(message);
      CHECK(!about_cuda_name(message));
    }
  }
}
