// A text compiled in parts is the program that it is in one piece: tried with programs that see it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "driver/files.h"
#include "driver/object/parts.h"
#include "process/process.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

constexpr int kParts = 3;

onepass::process::Result compile(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {ONEPASS_CXX_COMPILER, "-std=c++17", "-O1", "-w"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return onepass::process::run({command}, 60);
}

/// The objects of a text's parts; each knows its number as PART.
std::vector<std::string> parts_of(const std::string& text, const fs::path& folder,
                                  const std::string& flag = "-DNONE") {
  write_file(folder / "text.cpp", text);
  std::vector<std::string> objects;
  for (int part = 1; part <= kParts; ++part) {
    const fs::path assembly = folder / fmt::format("{}.s", part);
    objects.push_back(folder / fmt::format("{}.o", part));
    const auto compiled =
        compile({"-S", folder / "text.cpp", "-o", assembly, flag, fmt::format("-DPART={}", part)});
    REQUIRE_MESSAGE(compiled.succeeded(), compiled.output);
    write_file(assembly, with_names_for_all(read_file(assembly), part == 1));
    const auto assembled = compile({"-c", assembly, "-o", objects.back()});
    REQUIRE_MESSAGE(assembled.succeeded(), assembled.output);
  }
  return objects;
}

/// What the text's parts give, which a main() asks one after the other: see(1), see(2), see(3).
std::string seen_by_parts(const std::string& text) {
  const ScratchFolder folder(fs::temp_directory_path());
  std::vector<std::string> objects =
      parts_of("#define JOIN(a, b) a##b\n#define NAMED(part) JOIN(see_, part)\n" + text +
                   "\nlong NAMED(PART)() { return see<char[PART]>(); }\n",
               folder.path());
  for (const std::string& object : objects) {
    CHECK(can_be_part(read_object(read_file(object))));
  }
  const std::string main = folder.path() / "main.cpp", program = folder.path() / "program";
  write_file(main,
             "#include <cstdio>\nlong see_1(); long see_2(); long see_3();\n"
             "int main() { long a = see_1(), b = see_2(), c = see_3();\n"
             "  std::printf(\"%ld %ld %ld\", a, b, c); }\n");
  objects.insert(objects.end(), {main, "-o", program});
  const auto linked = compile(objects);
  REQUIRE_MESSAGE(linked.succeeded(), linked.output);
  return onepass::process::run({{program}}, 10).output;
}

bool can_be_parts(const std::string& text, const std::string& flag = "-DNONE") {
  const ScratchFolder folder(fs::temp_directory_path());
  return can_be_part(read_object(read_file(parts_of(text, folder.path(), flag).front())));
}

}  // namespace

TEST_CASE("a variable of the text is one, whichever part uses it") {
  for (const std::string variable :
       {"static int n;", "static int n = 0; int* also = &n;", "int n;", "namespace { int n; }",
        "static thread_local int n;", "extern \"C\" { static int n; }", "inline int n;",
        "namespace a { static long n; } using a::n;",
        "struct S { static int n; }; int S::n; constexpr int& n = S::n;"}) {
    INFO(variable);
    CHECK(seen_by_parts(variable + " template <typename> long see() { return ++n; }") == "1 2 3");
  }
  CHECK(seen_by_parts("static int n = 40; template <typename> long see() { return ++n; }") ==
        "41 42 43");
}

TEST_CASE("so is a static variable in a function, however often that is compiled") {
  for (const std::string function :
       {"static int next() { static int n; return ++n; }",
        "int next() { static int n; return ++n; }",
        "inline int next() { static int n; return ++n; }",
        "__attribute__((noinline)) static int next() { static int n; return ++n; }",
        "namespace { int next() { static int n; return ++n; } }",
        "static int zero() { return 0; } int next() { static int n = zero(); return ++n; }",
        "template <int> static int each() { static int n; return ++n; }\n"
        "int next() { return each<1>(); }",
        "int next() { return [] { static int n; return ++n; }(); }"}) {
    INFO(function);
    CHECK(seen_by_parts(function + " template <typename> long see() { return next(); }") ==
          "1 2 3");
  }
}

TEST_CASE("a function has one address") {
  for (const std::string function :
       {"static void f() {}", "void f() {}", "namespace { void f() {} }"}) {
    INFO(function);
    CHECK(seen_by_parts(
              function +
              " static void (*first)();\n"
              "template <typename> long see() { if (!first) first = f; return first == f; }") ==
          "1 1 1");
  }
}

TEST_CASE("what each part has for itself stays so") {
  CHECK(seen_by_parts("template <typename T> static long n = sizeof(T) * 10;\n"
                      "template <typename T> long see() { return ++n<T>; }") == "11 21 31");
  // The compiler makes another f() for each constant.
  CHECK(
      seen_by_parts("__attribute__((noinline)) static long f(int a, int b) { return a * 10 + b; }\n"
                    "template <typename T> long see() { return f(sizeof(T), 7); }") == "17 27 37");
}

TEST_CASE("a text of which parts would not be one program stays in one piece") {
  CHECK(can_be_parts("static int n; int next() { return ++n; }"));
  CHECK(can_be_parts("static int n; int next() { return ++n; }", "-fsanitize=thread"));
  CHECK_FALSE(can_be_parts("int begin(); int n = begin();"));
  CHECK_FALSE(can_be_parts("static int n asm(\"n.1\"); int next() { return ++n; }"));
  CHECK_FALSE(
      can_be_parts("extern \"C\" { __attribute__((noinline)) static void f() { asm(\"\"); } }"
                   " void g() { f(); }"));
}
