// A chapter's mistakes as a table. A mistake has an id and the ways in which it is made; a way is a
// sentence, and what it changes in the chapter's reference: hooks, of which those that are left
// empty are right.
//
//     const Table<Hooks> kMistakes = {
//         {"eps-outside-root",
//          {{"eps was added to the root: it belongs inside, sqrt(mean + eps).",
//            {.rstd = [](double mean, double eps) { return 1.0 / (std::sqrt(mean) + eps); }}}}}};
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::common {

/// Hooks that depend on which rows are wrong; nothing where those do not fit.
template <typename Hooks>
using HooksOfRows = std::function<std::optional<Hooks>(const verdict::WrongRows& wrong)>;

template <typename Hooks>
struct Way {
  std::string sentence;  // what to tell the student
  Hooks hooks;
  verdict::Noise noise = {};
  HooksOfRows<Hooks> of_rows{};  // instead, if there are any
  bool everywhere = false;       // these two: see verdict::Oracle
  bool at_any_length = false;
};

/// id: that of its row in docs/mistakes.md. It stands once in a table.
template <typename Hooks>
struct Mistake {
  std::string id;
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
           [reference, way](const verdict::Case& call, const std::string& output,
                            const verdict::WrongRows& wrong) -> std::optional<verdict::Field> {
             if (!way.of_rows) {
               return reference(call, output, way.hooks);
             }
             const std::optional<Hooks> hooks = way.of_rows(wrong);
             return hooks ? reference(call, output, *hooks) : std::nullopt;
           },
           way.noise, way.everywhere, way.at_any_length});
    }
  }
  return all;
}

/// The rows of tables one after the other. An id of several of them stands where it is first, with
/// the ways of all.
template <typename Hooks>
Table<Hooks> joined(const std::vector<Table<Hooks>>& tables) {
  Table<Hooks> all;
  for (const Table<Hooks>& table : tables) {
    for (const Mistake<Hooks>& mistake : table) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const Mistake<Hooks>& other) {
        return std::string_view(other.id) == mistake.id;
      });
      if (same == all.end()) {
        all.push_back(mistake);
      } else {
        same->ways.insert(same->ways.end(), mistake.ways.begin(), mistake.ways.end());
      }
    }
  }
  return all;
}

/// Mistakes in a part of a reference, as mistakes of the whole: place(hooks) says where they go.
template <typename Part, typename Place>
auto placed(const Table<Part>& table, Place place) {
  Table<decltype(place(std::declval<Part>()))> all;
  for (const Mistake<Part>& mistake : table) {
    all.push_back({mistake.id, {}});
    for (const Way<Part>& way : mistake.ways) {
      auto& ways = all.back().ways;
      ways.push_back(
          {way.sentence, place(way.hooks), way.noise, {}, way.everywhere, way.at_any_length});
      if (way.of_rows) {
        ways.back().of_rows = [of_rows = way.of_rows, place](const verdict::WrongRows& wrong) {
          const std::optional<Part> hooks = of_rows(wrong);
          return hooks ? std::optional(place(*hooks)) : std::nullopt;
        };
      }
    }
  }
  return all;
}

}  // namespace onepass::common
