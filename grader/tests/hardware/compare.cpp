// Puts what the simulator and a GPU counted side by side.
//
//   compare collect FOLDER > data.json    a folder that compare.sh made
//   compare table data.json               as Markdown
//   compare check data.json PAGE          does the docs page hold these very tables?
//   compare findings REPLY                the kind of what the simulator found first, or "-"
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/hardware/comparison.h"

namespace {

namespace fs = std::filesystem;
using namespace onepass::hardware;
using nlohmann::json;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path);
  if (!stream) {
    throw std::runtime_error(path.string() + " cannot be read");
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream stream(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// One subject's folder: `name`, `calls` (a line each), `cpu.reply`, `gpu.csv`.
void collect(const fs::path& folder, std::vector<Comparison>& all) {
  const std::string name = lines_of(folder / "name").at(0);
  const std::vector<std::string> calls = lines_of(folder / "calls");
  const auto replies = read_replies(folder / "cpu.reply");
  const std::vector<Launch> profile = read_profile(folder / "gpu.csv");
  const bool is_micro = name.rfind("micro-kernels", 0) == 0;
  std::size_t next = 0;
  if (replies.size() != calls.size()) {
    throw std::runtime_error(
        fmt::format("{}: {} replies to {} calls", name, replies.size(), calls.size()));
  }
  for (std::size_t call = 0; call < calls.size(); ++call) {
    for (const Launch& launch : replies[call]) {
      if (next == profile.size()) {
        throw std::runtime_error(name + ": the GPU made fewer launches than the simulator");
      }
      const bool is_named = is_micro && launch.kernel == "kernel";  // launched through a pointer
      all.push_back({name, is_named ? "" : calls[call], is_named ? calls[call] : launch.kernel,
                     launch.counts, profile[next++].counts});
    }
  }
  if (next != profile.size()) {
    throw std::runtime_error(name + ": the GPU made more launches than the simulator");
  }
}

json collect_all(const fs::path& folder) {
  std::vector<fs::path> subjects;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "name")) subjects.push_back(entry.path());
  }
  std::sort(subjects.begin(), subjects.end());
  std::vector<Comparison> all;
  for (const fs::path& subject : subjects) collect(subject, all);
  return {{"about", lines_of(folder / "about")}, {"launches", all}};
}

std::string tables_of(const fs::path& data) {
  const json content = json::parse(read_file(data));
  return tables(content.at("launches").get<std::vector<Comparison>>());
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  try {
    if (words.size() == 2 && words[0] == "collect") {
      fmt::print("{}\n", collect_all(words[1]).dump(1));
      return 0;
    }
    if (words.size() == 2 && words[0] == "table") {
      fmt::print("{}", tables_of(words[1]));
      return 0;
    }
    if (words.size() == 3 && words[0] == "check") {
      if (read_file(words[2]).find(tables_of(words[1])) != std::string::npos) {
        return 0;
      }
      fmt::print(stderr, "{} does not hold the tables of {}: put in what `compare table` prints.\n",
                 words[2], words[1]);
      return 1;
    }
    if (words.size() == 2 && words[0] == "findings") {
      fmt::print("{}\n", first_finding(words[1]));
      return 0;
    }
    fmt::print(stderr,
               "Usage: compare collect FOLDER | table DATA | check DATA PAGE | findings REPLY\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "compare: {}\n", error.what());
  }
  return 2;
}
