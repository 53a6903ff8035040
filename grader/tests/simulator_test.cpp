// Runs the kernels of simulator/*.cu and checks what the simulator says of each.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "simulator/simulator.h"
#include "tests/simulator/cases.h"

namespace {

using simulator::Finding;
using simulator::Party;

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string text; std::getline(in, text);) lines.push_back(text);
  return lines;
}

/// Does the line end in this comment?
bool has_comment(const std::string& file, int line, const std::string& comment) {
  static std::map<std::string, std::vector<std::string>> files;
  const auto [entry, is_new] = files.try_emplace(file);
  const std::string folder = file.rfind("onepass/", 0) == 0 ? ONEPASS_GIVEN_FOLDER "/" : "";
  if (is_new) entry->second = lines_of(folder + file);
  if (line < 1 || line > static_cast<int>(entry->second.size())) return false;
  const std::string& text = entry->second[static_cast<std::size_t>(line) - 1];
  const std::string wanted = "// " + comment;
  return text.size() >= wanted.size() &&
         text.compare(text.size() - wanted.size(), wanted.size(), wanted) == 0;
}

/// A finding in full, for the test's own messages.
std::string describe(const Finding& finding) {
  std::string text = std::string(simulator::kind_name(finding.kind)) + ": " + finding.message;
  for (const Party& party : finding.parties) {
    text += "\n  " + party.file + ":" + std::to_string(party.line) + ": thread " +
            std::to_string(party.thread.x) + " block " + std::to_string(party.block.x) + " " +
            party.action;
  }
  return text;
}

bool is_at_marked_line(const Finding& finding) {
  return std::any_of(finding.parties.begin(), finding.parties.end(), [](const Party& party) {
    return has_comment(party.file, party.line, "here");
  });
}

void check_parties(const Finding& finding, const std::vector<Who>& expected) {
  REQUIRE(finding.parties.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Party& party = finding.parties[i];
    CAPTURE(i);
    CHECK(has_comment(party.file, party.line, expected[i].comment));
    if (expected[i].caller == nullptr) {
      CHECK(party.called_from == 0);
    } else {
      const std::string& file = party.caller_file.empty() ? party.file : party.caller_file;
      CHECK(has_comment(file, party.called_from, expected[i].caller));
    }
    CHECK(party.thread.x == expected[i].thread);
    CHECK(party.warp == static_cast<int>(expected[i].thread / 32));
    CHECK(party.lane == static_cast<int>(expected[i].thread % 32));
    CHECK(party.block.x == expected[i].block);
    if (expected[i].does != nullptr) CHECK(party.action.rfind(expected[i].does, 0) == 0);
  }
}

void check_finding(const Finding& finding, const Expected& expected) {
  const std::string kind = simulator::kind_name(finding.kind);
  CHECK((finding.warning ? "warning: " + kind : kind) == expected.finds);
  for (const std::string words : expected.words) {
    CAPTURE(words);
    CHECK(finding.message.find(words) != std::string::npos);
  }
  if (!expected.at_line) {
    CHECK(finding.parties.empty());
  } else if (!expected.parties.empty()) {
    check_parties(finding, expected.parties);
  } else {
    CHECK(is_at_marked_line(finding));
  }
}

}  // namespace

TEST_CASE("every checker finds its mistake, and nothing in right kernels") {
  REQUIRE(cases().size() > 200);
  for (const Case& entry : cases()) {
    CAPTURE(entry.name);
    simulator::reset();
    // Where page faults are slow, the stacks of all threads that a device holds take over a second.
    simulator::set_time_limit(entry.expected.finds == "endless-loop" ? 1 : 20);
    entry.run();
    const std::vector<Finding> findings = simulator::take_findings();
    std::string all;
    for (const Finding& finding : findings) all += describe(finding) + "\n";
    CAPTURE(all);
    if (entry.expected.finds.empty()) {
      CHECK(findings.empty());
    } else {
      CHECK(!findings.empty());
      if (!findings.empty()) check_finding(findings.front(), entry.expected);
      if (entry.expected.findings > 0) CHECK(findings.size() == entry.expected.findings);
    }
  }
  simulator::reset();
}

TEST_CASE("what a given header moves is counted by the student's call") {
  using simulator::LineTraffic;
  const auto lines_of_case = [](const std::string& name) {
    simulator::reset();
    simulator::count_requests(true);
    for (const Case& entry : cases()) {
      if (entry.name == name) entry.run();
    }
    simulator::count_requests(false);
    const auto launches = simulator::take_traffic();
    simulator::reset();
    REQUIRE(launches.size() == 1);
    std::vector<LineTraffic> given;
    for (const LineTraffic& line : launches[0].lines) {
      if (!line.caller_file.empty()) {
        CHECK(line.file == "onepass/neighbours.h");
        given.push_back(line);
      }
    }
    return given;
  };
  const auto put = lines_of_case("given_function_called_twice");
  REQUIRE(put.size() == 2);
  CHECK(has_comment(put[0].caller_file, put[0].called_from, "puts first"));
  CHECK(has_comment(put[1].caller_file, put[1].called_from, "puts second"));
  CHECK(put[0].requests == 2);
  const auto doubled = lines_of_case("given_kernel_by_launcher");
  REQUIRE(doubled.size() == 2);  // reads and writes
  for (const LineTraffic& line : doubled) {
    CHECK(has_comment(line.file, line.line, "doubles"));
    CHECK(has_comment(line.caller_file, line.called_from, "calls double_all"));
  }
}
