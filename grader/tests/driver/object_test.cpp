// What an exercise's object may be made of: by classes, as the compiler makes them of small texts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "driver/files.h"
#include "driver/object/guards.h"
#include "driver/object/inspect.h"
#include "driver/object/names.h"
#include "process/process.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

struct Compiled {
  std::string assembly;
  ObjectFile object;
};

Compiled compiled(const std::string& text, const std::vector<std::string>& flags = {}) {
  const ScratchFolder folder(fs::temp_directory_path());
  const std::string source = folder.path() / "a.cpp";
  const std::string assembly = folder.path() / "a.s";
  const std::string object = folder.path() / "a.o";
  write_file(source, text);
  const auto run = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {ONEPASS_CXX_COMPILER, "-std=c++17", "-O1", "-w"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const auto result = onepass::process::run({command}, 60);
    REQUIRE_MESSAGE(result.succeeded(), result.output);
  };
  std::vector<std::string> arguments = {
      "-fsanitize=thread", "-fsanitize=bounds-strict", "-S", source, "-o", assembly};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  run(arguments);
  run({"-c", assembly, "-o", object});
  return {read_file(assembly), read_object(read_file(object))};
}

/// "" if the text may be linked, else what is said of it.
std::string refused(const std::string& text) {
  const Compiled made = compiled(text);
  auto error = refused_assembly(made.assembly, text, "a.cu");
  if (!error) {
    error = refused_object(made.object, text, "a.cu");
  }
  return error ? error->told("a.cu") : "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what a student may reasonably write") {
  CHECK(refused(R"(
    #include <algorithm>
    #include <array>
    #include <cassert>
    #include <chrono>
    #include <cmath>
    #include <cstdio>
    #include <cstdlib>
    #include <cstring>
    #include <functional>
    #include <iostream>
    #include <map>
    #include <memory>
    #include <numeric>
    #include <random>
    #include <sstream>
    #include <stdexcept>
    #include <string>
    #include <unordered_map>
    #include <vector>
    struct Shape { virtual ~Shape() {} virtual int width() const { return 1; } };
    struct Wide : Shape { int width() const override { return 2; } };
    std::unique_ptr<Shape> make() { return std::make_unique<Wide>(); }
    static const std::vector<int> widths = {32, 64, 128};
    static std::map<std::string, int> counts;
    int choose(int cols, float eps, void* data) {
      assert(cols > 0);
      std::printf("%d\n", cols);
      std::fprintf(stderr, "%f %f\n", std::sqrt(eps), std::pow(eps, 0.3f) + expf(eps) + rintf(eps));
      std::cout << cols << " " << eps << std::endl;
      std::cerr << std::string(cols, 'x') << "\n";
      std::array<int, 3> three = {cols, 1, 2};
      std::sort(three.begin(), three.end());
      static int calls = std::rand();
      counts[std::to_string(calls)] += std::min(cols, three[1]);
      std::unordered_map<int, std::string> names = {{1, "one"}};
      std::function<int(int)> twice = [&](int x) { return 2 * x + int(names.size()); };
      std::ostringstream text;
      text << std::accumulate(widths.begin(), widths.end(), 0) << text.str().size();
      const auto begin = std::chrono::steady_clock::now();
      std::mt19937 random(1);
      std::memset(data, 0, 4);
      auto shared = std::make_shared<std::vector<float>>(cols, random());
      if (cols < 0) throw std::runtime_error("cols is " + std::to_string(cols));
      if (cols == 7) throw 7;
      if (eps < 0) { std::exit(EXIT_FAILURE); }
      try { twice(std::stoi(text.str())); } catch (const std::exception& e) { std::puts(e.what()); }
      asm volatile("" ::: "memory");  // a barrier for the compiler, no assembly
      return int((std::chrono::steady_clock::now() - begin).count() / 1000 % cols);
    })") == "");
}

TEST_CASE("what an exercise has no use for, with its line") {
  CHECK(refused("#include <unistd.h>\nvoid f() {\n  fork();\n}\n") ==
        "a.cu:3: fork is not for exercises, which may use CUDA's functions for kernels, memory, "
        "streams and events, mathematics, memory, printing, and the containers and strings of the "
        "standard library");
  for (const char* text :
       {"#include <unistd.h>\nvoid f() { (void)!write(4, \"\", 1); }",
        "#include <sys/mman.h>\nvoid f() { mprotect(0, 4096, 7); }",
        "#include <dlfcn.h>\nvoid* f() { return dlsym(nullptr, \"fork\"); }",
        "#include <thread>\nvoid f() { std::thread([] {}).detach(); }",
        "extern \"C\" int cudaLaunchHostFunc(...);\nint f() { return cudaLaunchHostFunc(0); }",
        "extern \"C\" int cudaGraphLaunch(...);\nint f() { return cudaGraphLaunch(0); }",
        "extern \"C\" int cudaGetDriverEntryPoint(...);\nint f() { return "
        "cudaGetDriverEntryPoint(0); }",
        "extern \"C\" int cudaMemcpyAsync_ptsz(...);\nint f() { return cudaMemcpyAsync_ptsz(0); }",
        "#include <fstream>\nvoid f() { std::ofstream(\"/proc/self/fd/4\") << 1; }",
        "#include <filesystem>\nbool f() { return std::filesystem::exists(\"/\"); }",
        "#include <cstdio>\nvoid f() { fopen(\"a\", \"w\"); }",
        "#include <exception>\nvoid f() { std::set_terminate(nullptr); }",
        "#include <cstdlib>\nvoid f() { std::system(\"ls\"); }",
        "namespace simulator { void reset(); }\nvoid f() { simulator::reset(); }",
        "namespace onepass::worker { int find(); }\nint f() { return onepass::worker::find(); }",
        "int write_(int) asm(\"write\");\nint f() { return write_(4); }",
        "extern \"C\" __attribute__((weak)) int fork();\nint f() { return fork ? 1 : 0; }"}) {
    CHECK_MESSAGE(has(refused(text), " is not for exercises"), text);
  }
}

TEST_CASE("what a library's function could be replaced by") {
  CHECK(refused("int main() { return 0; }\n") ==
        "a.cu:1: an exercise may not define main, by which a library's function could be replaced: "
        "its functions are C++ (not extern \"C\") and have other names");
  for (const char* text : {"extern \"C\" long write(int, const void*, unsigned long) { return 0; }",
                           "extern \"C\" int cudaMalloc(void**, unsigned long) { return 0; }",
                           "extern \"C\" void __tsan_write4(void*) {}",
                           "int mine(int) asm(\"read\");\nint mine(int) { return 0; }",
                           "extern \"C\" int own() { return 1; }\n"
                           "extern \"C\" __attribute__((alias(\"own\"))) int close(int);",
                           "void* operator new(unsigned long) { return nullptr; }",
                           "namespace simulator { int take_findings() { return 0; } }",
                           "namespace onepass::worker { int make_device() { return 0; } }",
                           "namespace std { void terminate() noexcept { for (;;) {} } }"}) {
    CHECK_MESSAGE(has(refused(text), "an exercise may not define"), text);
  }
}

TEST_CASE("a variable outside of every namespace") {
  CHECK(refused("unsigned counter;\nfloat table[4] = {1};\nthread_local int calls;\n"
                "extern const int widths[2] = {1, 2};\n") == "");
  CHECK(refused("\nint environ;\n") ==
        "a.cu:2: the variable environ bears a name of a library or of the compiler: give it "
        "another one, or put it into a namespace");
  for (const char* text : {"void* stdout;", "int write = 1;", "int cudaMalloc = 1;",
                           "int __dso_handle = 1;", "int mine asm(\"optarg\") = 1;"}) {
    CHECK_MESSAGE(has(refused(text), "bears a name of a library"), text);
  }
  CHECK(has(refused("int mine asm(\"_ZN9simulator14running_launchE\") = 1;"), "bears a name"));
}

TEST_CASE("what would run before the grader") {
  for (const char* text :
       {"__attribute__((constructor)) static void early() { x = 1; }",
        "__attribute__((constructor(101))) static void early() { x = 1; }",
        "__attribute__((destructor)) static void late() { x = 1; }",
        "static void early() { x = 1; }\n"
        "__attribute__((section(\".init_array\"), used)) void (*p)() = early;",
        "static void early() { x = 1; }\n"
        "__attribute__((section(\".preinit_array\"), used)) void (*p)() = early;"}) {
    CHECK_MESSAGE(refused(std::string("int x;\n") + text) != "", text);
  }
  CHECK(has(refused("int x;\n__attribute__((constructor)) static void early() { x = 1; }\n"),
            "a.cu:2: early would run before the grader"));
  CHECK(has(refused("int x;\n__attribute__((destructor)) static void late() { x = 1; }\n"),
            "a.cu:2: late would run before the grader, or after it"));
  CHECK(refused("struct A { A(); int x; };\nA::A() : x(1) {}\n"
                "__attribute__((init_priority(200))) A a;\n") ==
        "a.cu:3: an exercise may not choose when its variables are initialised");
  // One initialiser is the compiler's, whatever its name; beside it none is.
  for (const char* text :
       {"extern \"C\" { __attribute__((constructor)) static void _GLOBAL__sub_I_b() { x = 1; } }",
        "static void early() asm(\"_GLOBAL__sub_I_b\");\n"
        "__attribute__((constructor)) static void early() { x = 1; }",
        "extern \"C\" { __attribute__((constructor(99))) static void _sub_I_00099_7() { x = 1; } "
        "}"}) {
    const std::string with_one = "int one();\nint x = one();\n";
    CHECK_MESSAGE(has(refused(with_one + text), "would run before the grader"), text);
  }
  for (const char* text :
       {"__attribute__((section(\".init_array\"), used)) static unsigned long p = 0x401000;",
        "__attribute__((section(\".fini_array\"), used)) static unsigned long p = 0x401000;",
        "static void early() asm(\"_GLOBAL__sub_I_b\");\nstatic void early() {}\n"
        "__attribute__((section(\".init_array\"), used)) static char* p = (char*)early + 5;"}) {
    CHECK_MESSAGE(has(refused(text), "may not choose the section"), text);
  }
}

TEST_CASE("code that is not C++") {
  const std::string by_macro = "#define PASTE(a, b) a##b\n#define HIDDEN PASTE(as, m)\n";
  CHECK(refused("void f() { asm(\"nop\"); }\n") ==
        "a.cu:1: an exercise may not have assembly (asm) outside of kernels");
  CHECK(refused("asm(\".globl _ZSt21ios_base_library_initv\");\n") == "");  // g++ 13's <iostream>
  CHECK(has(refused("asm(\".globl _ZSt21ios_base_library_initw\");\n"), "assembly"));
  // Between it and a function whose throw is cold, g++ writes the function's constants.
  const std::string text =
      "asm(\".globl _ZSt21ios_base_library_initv\");\n"
      "bool differ(const char*);\nfloat use(float, const char*);\n"
      "float f(const char* a) {\n"
      "  if (differ(\"cols: \\\"#NO_APP\\n\\\\\")) throw 1;\n"
      "  return use(1.5f * a[0], \"rows\");\n}\n";
  const std::string assembly = compiled(text, {"-O3"}).assembly;
  CHECK(assembly.find("rows\"\n") < assembly.find("#NO_APP\n"));
  CHECK(!refused_assembly(assembly, text, "a.cu"));
  for (const std::string& hidden :
       {by_macro + "void f() { HIDDEN(\"syscall\"); }",
        by_macro + "HIDDEN(\".globl main\\nmain: ret\");",
        by_macro + "HIDDEN(\"\\n#NO_APP\\nmain: ret\");\nvoid f() {}",
        by_macro + "HIDDEN(\"\\n#NO_APP\\nmain: ret\\n#APP\");\nvoid f() {}",
        by_macro + "void g();\nvoid f() { HIDDEN(\"\\n#NO_APP\\nsyscall\\n#APP\"); g(); }",
        by_macro + "HIDDEN(\".string \\\"\\\"; ret; .string \\\"\\\"\");\nvoid f() {}"}) {
    CHECK_MESSAGE(has(refused(hidden), "assembly"), hidden);
  }
  for (const char* other :
       {"__attribute__((section(\".text\"))) const unsigned char code[] = {0x0f, 0x05};\n"
        "int f() { return ((int (*)())code)(); }",
        "__attribute__((section(\".mine\"))) int x = 1;",
        "static int one() { return 1; }\nextern \"C\" void* choose() { return (void*)one; }\n"
        "__attribute__((ifunc(\"choose\"))) int which();\nint f() { return which(); }"}) {
    CHECK_MESSAGE(refused(other) != "", other);
  }
}

TEST_CASE("all that the simulator's headers call may be asked for") {
  const std::string header = read_file(fs::path(ONEPASS_SOURCE_DIR) /
                                       "grader/simulator/include/onepass_simulator/device_calls.h");
  static const std::regex declaration(R"(\n[a-z][\w:]*(?: long)? ?\*? ?(\w+)\()");
  int found = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at) {
    const std::string name = (*at)[1];
    CHECK_MESSAGE(may_ask_for(fmt::format("_ZN9simulator{}{}Ev", name.size(), name)), name);
    ++found;
  }
  CHECK(found >= 9);
}

TEST_CASE("all that CUDA's headers declare and call on the simulator may be asked for") {
  const fs::path include = fs::path(ONEPASS_SOURCE_DIR) / "grader/simulator/include";
  const std::string header = read_file(include / "onepass_simulator/runtime_api.h");
  static const std::regex declaration(R"(\n(?:cudaError_t|const char\*) (\w+)\()");
  int found = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at) {
    CHECK_MESSAGE(may_ask_for((*at)[1]), (*at)[1].str());
    ++found;
  }
  CHECK(found >= 40);

  // And each inline function of theirs, and of what they include, whether it is used or not.
  const ObjectFile object = compiled(
                                "#include <cooperative_groups/reduce.h>\n#include <cuda_bf16.h>\n"
                                "#include <cuda_fp16.h>\n#include <cuda_runtime.h>\n",
                                {"-fkeep-inline-functions", "-I", include.string()})
                                .object;
  found = 0;
  for (const ObjectSymbol& symbol : object.symbols) {
    if (symbol.kind == ObjectSymbol::Kind::undefined) {
      CHECK_MESSAGE(may_ask_for(symbol.name), symbol.name);
      ++found;
    }
  }
  CHECK(found >= 100);
}

TEST_CASE("an object that is none") {
  CHECK_THROWS(read_object(""));
  CHECK_THROWS(read_object(std::string("\x7f") + "ELF\x02\x01\x01"));
  CHECK_THROWS(read_object(std::string(4096, '\xff')));
}

TEST_CASE("room behind shared variables") {
  const std::string text =
      "template <int N> float* of() { static thread_local float more[N]; return more; }\n"
      "static thread_local float a[3], b[3];\nfloat initialised[4];\n"
      "float* get(int i) { return i == 0 ? a : i == 1 ? b : i == 2 ? of<40>() : of<2000>(); }\n";
  const std::string assembly = compiled(text).assembly;
  const std::string with_room = with_room_behind_shared(assembly);
  const auto count = [&](const std::string& line) {
    int found = 0;
    for (std::size_t at = with_room.find(line); at != std::string::npos;
         at = with_room.find(line, at + 1)) {
      ++found;
    }
    return found;
  };
  CHECK(count("\t.zero\t12\n\t.zero\t128\n") == 2);
  CHECK(count("\t.zero\t160\n\t.zero\t256\n") == 1);
  CHECK(count("\t.zero\t8000\n\t.zero\t4096\n") == 1);
  CHECK(count("\t.zero\t16\n\t.zero") == 0);
  CHECK(with_room_behind_shared("\t.text\n\t.zero\t8\n") == "\t.text\n\t.zero\t8\n");
}
