// A student's file laid over the skeleton: where is the code of each TODO?
#include "driver/todo/places.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "driver/files.h"
#include "driver/text.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

constexpr const char* kSolution = R"(#include <toy.h>

/// Twice as much.
int twice(int a) {
  int result = 0;
  // TODO 1: double it. The sum of two
  // will do.
  // [solution 1]
  result = a + a;
  // [end]
  return result;
}

void all(int* y, int n) {
  for (int i = 0; i < n; ++i) {
    // TODO 2: y[i] is twice i.
    // [solution 2]
    y[i] = twice(i);
    // [end]

    // TODO 3: one more for odd i.
    // [solution 3]
    if (i % 2 == 1) {
      y[i] += 1;
    }
    // [end]
  }
}
)";

Skeleton toy() {
  return take_apart(kSolution, "toy.cu");
}

/// The toy's skeleton with each `from` replaced by its `to`.
std::string toy_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text = toy().text;
  for (const auto& [from, to] : changes) {
    const std::size_t place = text.find(from);
    REQUIRE(place != std::string::npos);
    text.replace(place, from.size(), to);
  }
  return text;
}

/// What stands at the places of a TODO, one after the other.
std::string code_of(const Places& places, int todo) {
  std::string code;
  for (const Place& place : places.places) {
    const auto [begin, end] = place.yours;
    code += place.todo == todo ? places.file.substr(begin, end - begin) : "";
  }
  return code;
}

/// The same for each TODO; empty if the file does not keep the shape.
std::vector<std::string> codes(const std::string& file) {
  const std::optional<Places> places = find_places(toy(), file);
  std::vector<std::string> all;
  for (const int todo : places ? places->todos() : std::set<int>()) {
    all.push_back(code_of(*places, todo));
  }
  return all;
}

using Codes = std::vector<std::string>;

const std::pair<std::string, std::string> kFirst = {"will do.\n", "will do.\nresult = 2 * a;\n"};
const std::pair<std::string, std::string> kSecond = {"twice i.\n", "twice i.\ny[i] = 2 * i;\n"};
const std::pair<std::string, std::string> kThird = {"odd i.\n", "odd i.\ny[i] += i % 2;\n"};

const Codes kAll = {"result = 2 * a;", "y[i] = 2 * i;", "y[i] += i % 2;"};

}  // namespace

TEST_CASE("the skeleton as it is: no TODO is begun") {
  const auto places = find_places(toy(), toy().text);
  REQUIRE(places);
  CHECK(places->todos() == std::set<int>{1, 2, 3});
  for (const int todo : places->todos()) {
    CHECK_FALSE(places->is_begun(todo));
  }
}

TEST_CASE("code below its TODO is that TODO's") {
  CHECK(codes(toy_with({kFirst, kSecond, kThird})) == kAll);
  CHECK(codes(toy_with({kThird})) == Codes{"", "", "y[i] += i % 2;"});
  CHECK(codes(toy_with({{"will do.\n", "will do.\nfor (;;) { if (a) { break; } } return a;"}})) ==
        Codes{"for (;;) { if (a) { break; } } return a;", "", ""});
}

TEST_CASE("a line is of the TODO whose code it has") {
  const std::string file = toy_with({{"will do.\n", "will do.\nresult =\n  2 * a;\n"}, kSecond});
  const auto places = find_places(toy(), file);
  REQUIRE(places);
  std::string found;
  for (int line = 1; line <= 24; ++line) {
    const std::optional<int> todo = places->todo_at(line);
    found += todo ? std::to_string(*todo) : ".";
  }
  CHECK(found == ".......11......2........");
}

TEST_CASE("a comment is no code") {
  const auto places = find_places(toy(), toy_with({{"will do.\n", "will do.\n// later /* */\n"}}));
  REQUIRE(places);
  CHECK_FALSE(places->is_begun(1));
}

TEST_CASE("layout does not count") {
  std::string file = toy_with({kFirst,
                               kSecond,
                               kThird,
                               {"int twice(int a) {", "int\ntwice( int a )\n{"},
                               {"++i) {", "++i)\n\t{\n"},
                               {"return result;\n}", "return\nresult; }"}});
  CHECK(codes(file) == kAll);
  for (std::size_t at = 0; (at = file.find('\n', at)) != std::string::npos; at += 2) {
    file.replace(at, 1, "\r\n");
  }
  CHECK(codes(file) == kAll);
}

TEST_CASE("comments may be changed and taken away, but for what tells two TODOs apart") {
  CHECK(codes(toy_with({kFirst,
                        kSecond,
                        kThird,
                        {"/// Twice as much.\n", ""},
                        {"  // TODO 1: double it. The sum of two\n  // will do.\n", ""}})) == kAll);
  CHECK(codes(toy_with({kFirst, kSecond, kThird, {"// TODO 2: y[i] is twice i.\n", ""}})) == kAll);
  CHECK(codes(toy_with({kSecond, kThird, {"TODO 3: one more for odd i.", "TODO 3 (done): odd"}})) ==
        Codes{"", "y[i] = 2 * i;", "y[i] += i % 2;"});
  CHECK(codes(toy_with({kSecond, kThird, {"// TODO 3: one more for odd i.\n", ""}})).empty());
  CHECK(codes(toy_with({kFirst, {"// TODO 3: one more for odd i.\n", ""}})) ==
        Codes{"result = 2 * a;", "", ""});
}

TEST_CASE("code above its TODO is that TODO's too") {
  CHECK(codes(toy_with({{"  // TODO 1", "result = a;\n  // TODO 1"}})) ==
        Codes{"result = a;", "", ""});
  CHECK(codes(toy_with({{"  // TODO 1", "result = a;\n  // TODO 1"}, kFirst}))[0] ==
        "result = a;\n  // TODO 1: double it. The sum of two\n  // will do.\nresult = 2 * a;");
}

TEST_CASE("code elsewhere belongs to no TODO") {
  CHECK(codes(toy_with({kFirst,
                        kSecond,
                        kThird,
                        {"#include <toy.h>\n", R"(#include <toy.h>
#include <cstdint>
int thrice(int a) {
  int result = 0;
  return result + 3 * a;
}
)"},
                        {"void all", "int half(int a) { return a / 2; }\nvoid all"},
                        {"i < n; ++i) {", "i < n; ++i) {"}})) == kAll);
}

TEST_CASE("a given line that was changed or taken away: the shape is not kept") {
  CHECK(codes(toy_with({kFirst, {"int result = 0;", "int result = 1;"}})).empty());
  CHECK(codes(toy_with({kFirst, {"return result;", ""}})).empty());
  CHECK(codes(toy_with({kFirst, {"int twice(int a)", "int doubled(int a)"}})).empty());
  CHECK(codes("").empty());
}

TEST_CASE("code that closes a bracket of the skeleton: the shape is not kept") {
  CHECK(codes(toy_with({{"will do.\n", "will do.\nif (a) {"}})).empty());
  CHECK(codes(toy_with({{"odd i.\n", "odd i.\n} for (int i = 0; i < n; ++i) {\n"}})).empty());
}

TEST_CASE("the solution's code in place of the student's, and the lines keep their numbers") {
  const std::string file = toy_with({kFirst, kSecond});
  const auto places = find_places(toy(), file);
  REQUIRE(places);
  const std::string spliced = places->with_solution({1, 3});
  CHECK(spliced.find("result = a + a;") != std::string::npos);
  CHECK(spliced.find("result = 2 * a;") == std::string::npos);
  CHECK(spliced.find("y[i] = 2 * i;") != std::string::npos);
  CHECK(spliced.find("y[i] += 1;") != std::string::npos);
  CHECK(places->with_solution({}) == file);

  // The number of each line that is the student's, as a compiler counts.
  const std::vector<std::string> lines = lines_of(file);
  std::size_t number = 0;
  int found = 0;
  for (const std::string& line : lines_of(spliced)) {
    if (line.rfind("#line ", 0) == 0) {
      number = std::stoul(line.substr(6)) - 1;
      continue;
    }
    if (number < lines.size() && !line.empty() && lines[number] == line) {
      ++found;
    }
    CHECK((line != "void all(int* y, int n) {" || lines.at(number) == line));
    CHECK((line != "y[i] = 2 * i;" || lines.at(number) == line));
    ++number;
  }
  CHECK(found > 12);
}

TEST_CASE("of every exercise: the solution is found in its own places, and can be put there") {
  const fs::path root = ONEPASS_SOURCE_DIR;
  for (const auto& entry : fs::recursive_directory_iterator(root / "solutions")) {
    if (!entry.is_regular_file()) {
      continue;
    }
    INFO(entry.path().string());
    const std::string solution = read_file(entry.path());
    const Skeleton skeleton = take_apart(solution, entry.path().string());
    const auto places = find_places(skeleton, solution);
    REQUIRE(places);
    REQUIRE(places->places.size() == skeleton.parts.size());
    for (const int todo : places->todos()) {
      CHECK(places->is_begun(todo));
    }
    for (const Place& place : places->places) {
      const auto [begin, end] = place.yours;
      // Its first line, behind the mark, and its last.
      const std::string code = solution.substr(begin, end - begin);
      CHECK(code.find(place.solution.substr(0, place.solution.size() - 1)) != std::string::npos);
      CHECK(code.size() < place.solution.size() + 60);
    }
    const auto untouched = find_places(skeleton, skeleton.text);
    REQUIRE(untouched);
    const std::string filled = untouched->with_solution(untouched->todos());
    const auto again = find_places(skeleton, filled);
    REQUIRE(again);
    for (const int todo : again->todos()) {
      CHECK(again->is_begun(todo));
      CHECK_FALSE(untouched->is_begun(todo));
    }
  }
}
