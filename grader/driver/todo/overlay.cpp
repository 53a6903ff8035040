#include "driver/todo/overlay.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace onepass::driver {
namespace {

constexpr std::size_t kMostSteps = 100'000'000;  // 0.3 s
constexpr int kImpossible = 1 << 29;

// What a word of code costs that stands nowhere near a TODO, and one that stands beside its
// comment; and a comment that is gone. At a TODO's place, code costs nothing.
constexpr int kElsewhere = 3;
constexpr int kBeside = 1;
constexpr int kCommentGone = 2;

enum class Step : std::uint8_t { match, add, leave_out };

using Ids = std::vector<int>;

// Numbers in place of keys, which compare faster.
Ids ids_of(const std::vector<Word>& words, std::unordered_map<std::string, int>& known) {
  Ids ids;
  for (const Word& word : words) {
    const std::string key = (word.comment ? "//" : "") + word.key;
    ids.push_back(known.emplace(key, static_cast<int>(known.size())).first->second);
  }
  return ids;
}

// What a word of code costs that is added before each word of the skeleton.
std::vector<int> costs_of_adding(const std::vector<Word>& skeleton,
                                 const std::vector<std::size_t>& places) {
  std::vector<int> costs(skeleton.size() + 1, kElsewhere);
  for (const std::size_t place : places) {
    for (std::size_t i = place; i > 0 && skeleton[i - 1].comment; --i) {
      costs[i - 1] = std::min(costs[i - 1], kBeside);
    }
    for (std::size_t i = place; i < skeleton.size() && skeleton[i].comment; ++i) {
      costs[i + 1] = std::min(costs[i + 1], kBeside);
    }
    costs[place] = 0;
  }
  return costs;
}

}  // namespace

std::optional<Overlay> overlay(const std::vector<Word>& skeleton,
                               const std::vector<std::size_t>& places,
                               const std::vector<Word>& file) {
  const std::size_t width = file.size() + 1;
  if (width * (skeleton.size() + 1) > kMostSteps) {
    return std::nullopt;
  }
  std::unordered_map<std::string, int> known;
  const Ids of_skeleton = ids_of(skeleton, known);
  const Ids of_file = ids_of(file, known);
  const std::vector<int> adding = costs_of_adding(skeleton, places);

  // steps[i * width + j]: the last of those from nothing to j words of the file, with i words of
  // the skeleton among them or left out. costs[j]: what they all cost, for the row i.
  std::vector<Step> steps((skeleton.size() + 1) * width, Step::add);
  std::vector<int> costs(width, kImpossible);
  std::vector<int> above(width, kImpossible);  // of the row before
  for (std::size_t i = 0; i <= skeleton.size(); ++i) {
    std::swap(costs, above);
    for (std::size_t j = 0; j < width; ++j) {
      int cost = i == 0 && j == 0 ? 0 : kImpossible;
      Step step = Step::add;
      if (i > 0 && j > 0 && of_skeleton[i - 1] == of_file[j - 1]) {
        cost = above[j - 1];
        step = Step::match;
      }
      const int added = j == 0 ? kImpossible : costs[j - 1] + (file[j - 1].comment ? 0 : adding[i]);
      if (added < cost) {
        cost = added;
        step = Step::add;
      }
      const int left_out = i > 0 && skeleton[i - 1].comment ? above[j] + kCommentGone : kImpossible;
      if (left_out < cost) {
        cost = left_out;
        step = Step::leave_out;
      }
      costs[j] = std::min(cost, kImpossible);
      steps[i * width + j] = step;
    }
  }
  if (costs[file.size()] >= kImpossible) {
    return std::nullopt;
  }

  Overlay result{std::vector<std::size_t>(file.size()), std::vector<bool>(file.size())};
  std::size_t i = skeleton.size();
  for (std::size_t j = file.size(); j > 0;) {
    const Step step = steps[i * width + j];
    i -= step == Step::add ? 0 : 1;
    if (step != Step::leave_out) {
      --j;
      result.before[j] = i;
      result.matched[j] = step == Step::match;
    }
  }
  return result;
}

}  // namespace onepass::driver
