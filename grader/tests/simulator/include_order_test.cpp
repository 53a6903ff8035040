// The folders of the simulator include one another in the order of include_order.txt, and in no
// other: so each of them can be read when those above it have been.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

using Order = std::map<std::string, std::set<std::string>>;  // folder → those that it may include

struct Include {
  std::string file, from, to;  // the folders
};

/// What is wrong with the order itself goes to `complaints`.
Order parse_order(std::istream& in, std::vector<std::string>& complaints) {
  Order order;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (line.empty() || line[0] == '#') continue;
    std::istringstream names(line.substr(colon + 1));
    std::set<std::string> allowed;
    for (std::string name; names >> name;) {
      allowed.insert(name);
      if (order.count(name) == 0) complaints.push_back(name + " is not above: " + line);
    }
    order[line.substr(0, colon)] = allowed;
  }
  return order;
}

/// The includes of other folders of the simulator in one file.
std::vector<Include> includes_of(const std::string& file, const std::string& folder,
                                 std::istream& in) {
  std::vector<Include> includes;
  const std::string start = "#include \"";
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, start.size(), start) != 0) continue;
    const std::string path = line.substr(start.size());
    const std::size_t slash = path.find('/');
    if (slash == std::string::npos) continue;  // a header beside src
    const std::string to = path.substr(0, slash);
    if (to != folder && to != "onepass_simulator") includes.push_back({file, folder, to});
  }
  return includes;
}

std::vector<std::string> against(const Order& order, const std::vector<Include>& includes) {
  std::vector<std::string> complaints;
  for (const Include& include : includes) {
    const auto allowed = order.find(include.from);
    if (allowed == order.end() || allowed->second.count(include.to) == 0) {
      complaints.push_back(include.file + ": " + include.from + " must not include " + include.to);
    }
  }
  return complaints;
}

}  // namespace

TEST_CASE("an include against the order is found, and so is a cycle in the order") {
  std::vector<std::string> complaints;
  std::istringstream text("# comment\nlow:\nmiddle: low\nhigh: middle low\n");
  const Order order = parse_order(text, complaints);
  CHECK(complaints.empty());
  std::istringstream good("#include <vector>\n#include \"simulator.h\"\n#include \"low/a.h\"\n");
  CHECK(against(order, includes_of("b.cpp", "middle", good)).empty());
  std::istringstream upwards("#include \"high/a.h\"\n");
  CHECK(against(order, includes_of("b.cpp", "middle", upwards)).size() == 1);
  std::istringstream unknown("#include \"low/a.h\"\n");
  CHECK(against(order, includes_of("b.cpp", "new", unknown)).size() == 1);
  std::istringstream cycle("low: high\nhigh: low\n");
  parse_order(cycle, complaints);
  CHECK(complaints.size() == 1);
}

TEST_CASE("the simulator's folders include one another in the order that is written down") {
  const fs::path root = fs::path(ONEPASS_SOURCE_DIR) / "grader/simulator/src";
  std::ifstream text(root / "include_order.txt");
  REQUIRE(text);
  std::vector<std::string> complaints;
  const Order order = parse_order(text, complaints);
  std::vector<Include> includes;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path folder = entry.path().parent_path();
    if (!entry.is_regular_file() || folder == root) continue;
    std::ifstream source(entry.path());
    for (const Include& include : includes_of(fs::relative(entry.path(), root).string(),
                                              folder.filename().string(), source)) {
      includes.push_back(include);
    }
  }
  CHECK(includes.size() > 50);  // else it looks in the wrong place
  for (const std::string& complaint : against(order, includes)) complaints.push_back(complaint);
  std::string all;
  for (const std::string& complaint : complaints) all += complaint + '\n';
  CHECK_MESSAGE(complaints.empty(), all);
}
