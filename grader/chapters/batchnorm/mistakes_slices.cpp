// Mistakes of chapter 4 in how the statistics of a channel's parts are put together, where several
// blocks share a channel: each has so many elements that follow one another.
#include <algorithm>
#include <functional>

#include "chapters/batchnorm/mistakes.h"

namespace onepass::batchnorm {

namespace {

using common::ForwardHooks;

/// How many elements a part has: a number of its own, or its share of the channel, in single
/// elements, whole vectors, or whole vectors of a warp.
using Length = std::function<std::int64_t(std::int64_t count)>;

std::vector<Length> lengths() {
  std::vector<Length> all;
  for (std::int64_t length = 64; length <= 16384; length *= 2) {
    all.push_back([=](std::int64_t) { return length; });
  }
  for (std::int64_t parts = 2; parts <= 64; parts *= 2) {
    for (const std::int64_t unit : {1, 4, 8, 32 * 4, 32 * 8}) {
      all.push_back([=](std::int64_t count) {
        const std::int64_t share = (count + parts - 1) / parts;
        return (share + unit - 1) / unit * unit;
      });
    }
  }
  return all;
}

struct Part {
  double count = 0.0, mean = 0.0, squares = 0.0;
};

Part part_of(const Field& x, std::int64_t row, std::int64_t first, std::int64_t end) {
  Part part = {static_cast<double>(end - first)};
  for (std::int64_t j = first; j < end; ++j) {
    part.mean += x(row, j) / part.count;
  }
  for (std::int64_t j = first; j < end; ++j) {
    part.squares += (x(row, j) - part.mean) * (x(row, j) - part.mean);
  }
  return part;
}

/// From a channel's parts to the statistics that are taken for its own.
using Merge = Part (*)(const std::vector<Part>& parts);

/// The mean of the parts' means, each weighed with its count, or all alike.
double mean_of(const std::vector<Part>& parts, bool alike) {
  double count = 0.0, sum = 0.0;
  for (const Part& part : parts) {
    const double weight = alike ? 1.0 : part.count;
    count += weight;
    sum += weight * part.mean;
  }
  return sum / count;
}

/// The squares within the parts, and of each part's distance from a mean, as often as that says.
Part about(double mean, const std::vector<Part>& parts,
           const std::function<double(const Part&)>& times) {
  Part all = {0.0, mean, 0.0};
  for (const Part& part : parts) {
    all.squares += part.squares + times(part) * (part.mean - mean) * (part.mean - mean);
  }
  return all;
}

Part nothing_between(const std::vector<Part>& parts) {
  return about(mean_of(parts, false), parts, [](const Part&) { return 0.0; });
}

Part as_equal(const std::vector<Part>& parts) {
  double count = 0.0;
  for (const Part& part : parts) {
    count += part.count;
  }
  return about(mean_of(parts, true), parts,
               [each = count / static_cast<double>(parts.size())](const Part&) { return each; });
}

Part with_plain_mean(const std::vector<Part>& parts) {
  return about(mean_of(parts, true), parts, [](const Part& part) { return part.count; });
}

/// Of every channel, of such parts; nothing where it has no two of them.
common::RowSum merged(const Length& length_of, Merge merge, double (*result)(const Part&, double)) {
  return [=](verdict::Dtype, const Field& x) -> std::optional<Field> {
    const std::int64_t length = length_of(x.cols);
    if (x.cols <= length) {
      return std::nullopt;
    }
    return verdict::field_of(x.rows, 1, [&](auto row, auto) {
      std::vector<Part> parts;
      for (std::int64_t first = 0; first < x.cols; first += length) {
        parts.push_back(part_of(x, row, first, std::min(first + length, x.cols)));
      }
      return result(merge(parts), static_cast<double>(x.cols));
    });
  };
}

}  // namespace

common::Table<Hooks> slice_mistakes() {
  common::Mistake<Hooks> mistake{"welford-counts", {}};
  const std::pair<const char*, Merge> merges[] = {
      {"The squares within the parts of a channel were added up as they are: the distance of each "
       "part's mean from the channel's belongs to them, squared, times the part's count.",
       nothing_between},
      {"The parts of a channel were put together as if each had equally many elements: weigh them "
       "with the counts that there are. The last part has fewer.",
       as_equal},
      {"The mean of a channel's parts was taken as if each had equally many elements: weigh their "
       "means with the counts that there are. The last part has fewer.",
       with_plain_mean}};
  for (const auto& [sentence, merge] : merges) {
    for (const Length& length : lengths()) {
      const ForwardHooks hooks = {
          .sum =
              merged(length, merge, [](const Part& all, double count) { return all.mean * count; }),
          .square = [](const common::Element& e) { return e.x; },
          .sum_of_squares =
              merged(length, merge, [](const Part& all, double) { return all.squares; })};
      mistake.ways.push_back({sentence, {.norm = [hooks](const Inputs&) { return hooks; }}});
    }
  }
  return {mistake};
}

}  // namespace onepass::batchnorm
