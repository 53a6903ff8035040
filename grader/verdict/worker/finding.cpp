#include "verdict/worker/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace onepass::verdict {
namespace {

using nlohmann::json;

struct KnownKind {
  const char* kind;
  const char* mistake;  // nullptr: the kind alone does not name one
  const char* advice;
};

// The kinds of simulator.h, and what each means in the terms of the mistakes that are told.
constexpr KnownKind kKinds[] = {
    {"out-of-bounds-global", "no-tail-mask",
     "Check the index against the number of rows or columns before the access."},
    {"out-of-bounds-shared", "shared-too-small",
     "Give the shared array one slot for each index that is used."},
    {"out-of-bounds-local", "array-too-small",
     "Give the array one slot for each index that is used."},
    {"use-after-free", nullptr, "Free memory only after the last kernel that uses it."},
    {"null-pointer", "null-pointer", "Check that the pointer was given before it is used."},
    {"host-pointer", nullptr, "A kernel may only use pointers to device memory."},
    {"misaligned", "misaligned-vector",
     "A vector access needs an address that is a multiple of its size: check it, and fall back to "
     "single elements."},
    {"uninitialised-shared", "uninitialised-shared",
     "Write every slot before it is read; the number of warps may be smaller than the array."},
    {"uninitialised-global", "accumulated-into-garbage",
     "An output holds nothing yet: write it before you read it or add to it."},
    {"barrier-divergence", "divergent-barrier",
     "All threads of a block must meet at the same barrier: move it out of the branch."},
    {"early-return", "early-return-barrier",
     "Let threads with nothing to do skip the work, not the barrier or the shuffle."},
    {"deadlock", "divergent-barrier", "Threads wait for others that never come."},
    {"bad-warp-mask", "bad-shuffle-mask",
     "The mask must name exactly the lanes that take part, the calling one included."},
    {"inactive-lane-read", "bad-shuffle-mask",
     "A shuffle may only read from lanes that take part in it."},
    {"endless-loop", nullptr, "Look at the loop's condition and at its step."},
    {"stack-overflow", nullptr, "Make local arrays smaller, or the recursion less deep."},
    {"invalid-launch", "launch-failed",
     "Look at the launch's grid, block and shared memory sizes."},
    {"shared-race", "missing-barrier", "Put a __syncthreads() between the two."},
    {"global-race", nullptr, "Let one thread do both, or put a __syncthreads() between the two."},
};

// Races of lanes of one warp, and of threads of two blocks.
constexpr const char* kWarpAdvice = "Put a __syncwarp() of both lanes between the two.";
constexpr const char* kBlocksAdvice =
    "Blocks run in no order: let one block do both, use an atomic, or let each block write to a "
    "place of its own and add those up in a second kernel.";

const KnownKind* kind_named(const std::string& kind) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const KnownKind& known) { return kind == known.kind; });
  return found == std::end(kKinds) ? nullptr : found;
}

/// Optional members may be absent or null.
template <typename T>
T value_or(const json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? otherwise : found->get<T>();
}

/// "5", or "(5, 1, 0)" if it is not all in x.
std::string place(const std::array<int, 3>& index) {
  return index[1] == 0 && index[2] == 0 ? std::to_string(index[0])
                                        : fmt::format("({}, {}, {})", index[0], index[1], index[2]);
}

bool is_race(const Finding& finding) {
  return (finding.kind == "shared-race" || finding.kind == "global-race") &&
         finding.parties.size() == 2;
}

bool in_one_block(const Finding& finding) {
  return finding.parties[0].block == finding.parties[1].block;
}

bool in_one_warp(const Finding& finding) {
  return in_one_block(finding) && finding.parties[0].warp == finding.parties[1].warp;
}

}  // namespace

std::optional<std::string> Party::location() const {
  if (file.empty() || line <= 0) {
    return std::nullopt;
  }
  return file + ":" + std::to_string(line);
}

std::string Party::text() const {
  const std::string where =
      location() ? fmt::format("{}:{}: ", file.substr(file.rfind('/') + 1), line) : "";
  return fmt::format("{}thread {} (warp {}, lane {}) of block {} {}", where, place(thread), warp,
                     lane, place(block), action);
}

std::optional<std::string> Finding::location() const {
  for (const Party& party : parties) {
    if (party.location()) {
      return party.location();
    }
  }
  return std::nullopt;
}

bool Finding::is_endless() const {
  return kind == "endless-loop" || kind == "deadlock";
}

std::optional<std::string> Finding::mistake() const {
  const KnownKind* known = kind_named(kind);
  if (known == nullptr || known->mistake == nullptr) {
    return std::nullopt;
  }
  if (kind == "shared-race" && is_race(*this) && in_one_warp(*this)) {
    return "missing-syncwarp";
  }
  if (kind == "deadlock" && message.find("a word in memory") != std::string::npos) {
    return "lock-deadlock";
  }
  return known->mistake;
}

std::string Finding::advice() const {
  if (is_race(*this) && !in_one_block(*this)) {
    return kBlocksAdvice;
  }
  if (is_race(*this) && in_one_warp(*this)) {
    return kWarpAdvice;
  }
  const KnownKind* known = kind_named(kind);
  return known == nullptr ? "" : known->advice;
}

std::string Finding::account() const {
  std::string text = message;
  if (!warning && !kernel.empty()) {
    for (const Party& party : parties) {
      text += "\n  " + party.text();
    }
  }
  return text;
}

std::string Finding::sentence() const {
  const std::string what_to_do = advice();
  return what_to_do.empty() ? account() : account() + "\n" + what_to_do;
}

Finding finding_from(const json& object) {
  Finding finding;
  finding.kind = object.at("kind").get<std::string>();
  finding.kernel = value_or<std::string>(object, "kernel", "");
  finding.message = object.at("message").get<std::string>();
  finding.warning = value_or<std::string>(object, "severity", "error") == "warning";
  finding.buffer = value_or<std::string>(object, "buffer", "");
  if (const auto index = object.find("index"); index != object.end() && !index->is_null()) {
    finding.index = index->get<std::int64_t>();
  }
  for (const json& entry : object.value("parties", json::array())) {
    Party party;
    party.action = value_or<std::string>(entry, "action", "");
    party.file = value_or<std::string>(entry, "file", "");
    party.line = value_or(entry, "line", 0);
    party.thread = value_or(entry, "thread", std::array<int, 3>{});
    party.block = value_or(entry, "block", std::array<int, 3>{});
    party.warp = value_or(entry, "warp", 0);
    party.lane = value_or(entry, "lane", 0);
    finding.parties.push_back(std::move(party));
  }
  return finding;
}

}  // namespace onepass::verdict
