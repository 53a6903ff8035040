// The sizes of a sweep, and rows so far apart that an int does not count what lies between them.
#include <algorithm>
#include <set>

#include "verdict/contract/sweep.h"

namespace onepass::verdict::contract {
namespace {

constexpr std::int64_t kLastDrawn = 16'384;
constexpr std::int64_t kAffordable = std::int64_t{1} << 18;  // columns of a row

/// Those from `least` to `most` that are beside one of the ends, and the ends.
std::set<std::int64_t> beside(const std::vector<std::int64_t>& ends, std::int64_t least,
                              std::int64_t most) {
  std::set<std::int64_t> all;
  for (const std::int64_t end : ends) {
    for (const std::int64_t width : {end - 1, end, end + 1}) {
      if (least <= width && width <= most) {
        all.insert(width);
      }
    }
  }
  return all;
}

/// Each gap of each tensor with a stride, by itself; of the named tensors, if some are named.
std::vector<Arrangement> with_gap_each(const Function& function,
                                       std::initializer_list<std::int64_t> gaps,
                                       const std::set<std::string>& only = {}) {
  std::vector<Arrangement> arrangements;
  for (const std::int64_t gap : gaps) {
    for (const Tensor& tensor : function.tensors) {
      if (tensor.traits.strided && (only.empty() || only.count(tensor.name) > 0)) {
        arrangements.push_back({{tensor.name, {.gap = gap}}});
      }
    }
  }
  return arrangements;
}

}  // namespace

std::int64_t drawn_size(const Random& random, std::uint64_t shape, std::uint64_t size,
                        std::int64_t most) {
  const bool fills_vectors = (shape / 2 == size) != (shape % 2 == 1);
  return fills_vectors ? 8 * random.integer(size, 1, most / 8)
                       : 2 * random.integer(size, 1, (most - 1) / 2) + 1;
}

std::vector<Arrangement> far_apart(const Function& function) {
  return with_gap_each(function, {std::int64_t{1} << 30, std::int64_t{1} << 31});
}

std::vector<Arrangement> beyond_vectors(const Function& function, bool also_vectors,
                                        const std::set<std::string>& only) {
  return with_gap_each(
      function, {(std::int64_t{1} << 31) + (std::int64_t{also_vectors ? 1 : 0} << 34)}, only);
}

std::vector<Arrangement> beyond_ints(const Function& function, bool at_once,
                                     const std::set<std::string>& only) {
  constexpr std::int64_t kBetween = 16;  // two gaps
  Arrangement all;
  for (const Tensor& tensor : function.tensors) {
    if (tensor.traits.strided) {
      const auto others = static_cast<std::int64_t>(all.places.size());
      all.places[tensor.name].gap = (std::int64_t{1} << 31) + others * kBetween;
    }
  }
  return at_once ? std::vector{all} : beyond_vectors(function, false, only);
}

std::vector<std::int64_t> widths(std::int64_t least, std::int64_t most) {
  const auto all = beside({2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, least, most);
  return {all.begin(), all.end()};
}

std::vector<std::int64_t> widths_past_ends(std::int64_t most, const Random& random) {
  std::vector<std::int64_t> widths;
  for (std::int64_t octave = 1024; octave < most; octave *= 2) {
    const auto number = static_cast<std::uint64_t>(octave);
    const std::int64_t step = random.integer(number, 0, 1) == 0 || octave == 1024 ? 1000 : 1024;
    const std::int64_t first = octave / step + 1;
    const std::int64_t end = step * random.integer(number + 1, first, (2 * octave - 1) / step);
    for (const std::int64_t last : {octave, end}) {
      if (last < most && (last == octave || last < kLastDrawn)) {
        widths.push_back(last + 1);
      }
    }
  }
  return widths;
}

std::vector<std::int64_t> some_widths(std::int64_t least, std::int64_t most) {
  const auto all = beside({2, 4, 8, 32, 128}, least, most);
  return {all.begin(), all.end()};
}

std::vector<std::int64_t> widest(const Function& function, const std::string& name) {
  for (const Size& size : function.sizes) {
    if (size.name == name && size.most <= kAffordable) {
      return {size.most};
    }
  }
  return {};
}

}  // namespace onepass::verdict::contract
