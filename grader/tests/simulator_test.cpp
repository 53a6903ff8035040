// Runs the kernels of simulator/*_cases.cu and checks what the simulator says of each.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "simulator/simulator.h"
#include "tests/simulator/cases.h"

namespace {

std::string line_of(const std::string& file, int line) {
  std::ifstream in(file);
  std::string text;
  while (line-- > 0 && std::getline(in, text)) {
  }
  return text;
}

/// A finding in full, for the test's own messages.
std::string describe(const simulator::Finding& finding) {
  std::string text = std::string(simulator::kind_name(finding.kind)) + ": " + finding.message;
  for (const simulator::Party& party : finding.parties) {
    text += "\n  " + party.action + " at " + party.file + ":" + std::to_string(party.line) +
            " thread " + std::to_string(party.thread.x) + " block " + std::to_string(party.block.x);
  }
  return text;
}

/// True if the case marks a line and a party of the finding is there.
bool is_at_marked_line(const simulator::Finding& finding) {
  for (const simulator::Party& party : finding.parties) {
    if (line_of(party.file, party.line).find("// here") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every checker finds its mistake, and nothing in right kernels") {
  simulator::set_time_limit(0.5);
  REQUIRE(cases().size() > 50);
  for (const Case& entry : cases()) {
    const std::string name = entry.name;
    CAPTURE(name);
    simulator::reset();
    entry.run();
    const auto findings = simulator::take_findings();
    std::string all;
    for (const auto& finding : findings) all += describe(finding) + "\n";
    CAPTURE(all);
    if (entry.finds[0] == '\0') {
      CHECK(findings.empty());
      continue;
    }
    REQUIRE(findings.size() >= 1);
    const std::string expected = entry.finds;
    CHECK(simulator::kind_name(findings[0].kind) == expected);
    if (findings[0].kind == simulator::Kind::invalid_launch) continue;
    CHECK(!findings[0].parties.empty());
    if (findings[0].kind != simulator::Kind::stack_overflow) {
      CHECK(is_at_marked_line(findings[0]));
    }
  }
  simulator::reset();
}
