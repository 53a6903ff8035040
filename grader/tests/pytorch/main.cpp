// Do the references agree with PyTorch? A developer's tool; run.sh runs all of it.
//
//   agreement write DIR --seed 1 --cases 20    draws cases for torch_outputs.py
//   agreement judge DIR... --out FILE.json     compares what it computed with the references
//   agreement table FILE.json                  as Markdown, for docs/grading.md
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/pytorch/agreement.h"

namespace {

using namespace onepass::agreement;

nlohmann::json read_data(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw BadExchange(file + " cannot be read.");
  }
  return nlohmann::json::parse(stream);
}

int judge_folders(const std::vector<std::string>& folders, const std::string& out) {
  const Agreement agreement = judge({folders.begin(), folders.end()});
  std::ofstream stream(out);
  stream << to_data(agreement).dump(1) << '\n';
  if (!stream.flush()) {
    throw BadExchange(out + " cannot be written.");
  }
  const std::vector<std::string> sentences = disagreements(agreement);
  for (const std::string& sentence : sentences) {
    fmt::print(stderr, "{}\n", sentence);
  }
  if (sentences.empty()) {
    fmt::print("The references agree with PyTorch {} on {}.\n", agreement.about.torch,
               agreement.about.device);
  }
  return sentences.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares the references with PyTorch.");
  app.require_subcommand(1);
  std::string folder, out, file;
  std::vector<std::string> folders;
  Plan plan;

  CLI::App* write = app.add_subcommand("write", "Draws cases for torch_outputs.py");
  write->add_option("folder", folder, "Where to put them")->required();
  write->add_option("--seed", plan.seed, "What to draw them from")->capture_default_str();
  write->add_option("--cases", plan.each, "How many of each exercise in each type")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();

  CLI::App* judge = app.add_subcommand("judge", "Compares PyTorch's outputs with the references");
  judge->add_option("folders", folders, "Folders in which torch_outputs.py has been")->required();
  judge->add_option("--out", out, "Where to put the result")->required();

  CLI::App* table_of = app.add_subcommand("table", "Shows a result as Markdown");
  table_of->add_option("file", file, "What `judge` wrote")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    if (*write) {
      write_cases(plan, folder);
      return 0;
    }
    if (*judge) {
      return judge_folders(folders, out);
    }
    fmt::print("{}", table(from_data(read_data(file))));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "agreement: {}\n", error.what());
    return 2;
  }
}
