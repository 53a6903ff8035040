// A chapter's mistakes as a table. A mistake has an id and the ways in which it is made; a way is a
// sentence, and what it changes in the chapter's reference: hooks, of which those that are left
// empty are right.
//
//     const Table<Hooks> kMistakes = {
//         {"eps-outside-root",
//          {{"eps was added to the root: it belongs inside, sqrt(mean + eps).",
//            {.rstd = [](double mean, double eps) { return 1.0 / (std::sqrt(mean) + eps); }}}}}};
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::common {

template <typename Hooks>
struct Way {
  std::string sentence;  // what to tell the student
  Hooks hooks;
  double slack = verdict::kSlack;
};

/// id: that of its row in docs/mistakes.md. It stands once in a table.
template <typename Hooks>
struct Mistake {
  const char* id;
  std::vector<Way<Hooks>> ways;
};

template <typename Hooks>
using Table = std::vector<Mistake<Hooks>>;

/// What an output of a call would be in fp64 with those hooks; nothing where they do not apply.
template <typename Hooks>
using Reference = std::function<std::optional<verdict::Field>(
    const verdict::Case& call, const std::string& output, const Hooks& hooks)>;

/// The table's mistakes, in its order: where two explain an output equally well, the earlier one is
/// named.
template <typename Hooks>
std::vector<verdict::Oracle> oracles(const Table<Hooks>& table, const Reference<Hooks>& reference) {
  std::vector<verdict::Oracle> all;
  for (const Mistake<Hooks>& mistake : table) {
    for (const Way<Hooks>& way : mistake.ways) {
      all.push_back(
          {mistake.id, way.sentence,
           [reference, hooks = way.hooks](const verdict::Case& call, const std::string& output) {
             return reference(call, output, hooks);
           },
           way.slack});
    }
  }
  return all;
}

}  // namespace onepass::common
