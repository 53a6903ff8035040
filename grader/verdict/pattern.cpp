#include "verdict/pattern.h"

#include <fmt/format.h>

#include <algorithm>

namespace onepass::verdict {
namespace {

/// Is exactly every index with index % period >= width a member?
bool is_all_but(const std::vector<char>& members, std::int64_t period, std::int64_t width) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool expected = static_cast<std::int64_t>(i) % period >= width;
    if ((members[i] != 0) != expected) {
      return false;
    }
  }
  return true;
}

/// "row 3", "columns 256 to 999", "every column but 0, 32, 64, ..."
std::string words(const IndexSet& set, const std::string& one, const std::string& many) {
  switch (set.kind) {
    case IndexSet::Kind::all:
      return "every " + one;
    case IndexSet::Kind::range:
      return set.first == set.last ? fmt::format("{} {}", one, set.first)
                                   : fmt::format("{} {} to {}", many, set.first, set.last);
    case IndexSet::Kind::all_but_some:
      if (set.period == set.size) {
        return fmt::format("every {} but the first", one);
      }
      return set.width == 1
                 ? fmt::format("every {} but 0, {}, {}, ...", one, set.period, 2 * set.period)
                 : fmt::format("every {} but 0 to {}, {} to {}, ...", one, set.width - 1,
                               set.period, set.period + set.width - 1);
    default:
      return fmt::format("{} of {} {}", set.count, set.size, many);
  }
}

std::string text_of(const Mask& mask, const Pattern& pattern) {
  if (pattern.count == 0) {
    return "";
  }
  const std::string rows = words(pattern.rows, "row", "rows");
  const std::string cols = words(pattern.cols, "column", "columns");
  if (mask.cols == 1) {
    return rows;
  }
  if (!pattern.product) {
    return fmt::format("{} of {} elements, in {}", pattern.count, mask.rows * mask.cols, rows);
  }
  if (pattern.cols.kind == IndexSet::Kind::all) {
    return pattern.rows.kind == IndexSet::Kind::all ? "every element" : rows;
  }
  return mask.rows == 1 ? cols : cols + " of " + rows;
}

}  // namespace

IndexSet recognise(const std::vector<char>& members) {
  IndexSet set;
  set.size = static_cast<std::int64_t>(members.size());
  set.count =
      std::count_if(members.begin(), members.end(), [](char member) { return member != 0; });
  if (set.count == 0) {
    return set;
  }
  set.first = std::find(members.begin(), members.end(), 1) - members.begin();
  set.last = members.rend() - std::find(members.rbegin(), members.rend(), 1) - 1;
  set.kind = IndexSet::Kind::other;
  if (set.count == set.size) {
    set.kind = IndexSet::Kind::all;
  } else if (set.first == 1 && set.last == set.size - 1 && set.count == set.size - 1) {
    set.kind = IndexSet::Kind::all_but_some;
    set.period = set.size;
    set.width = 1;
  } else if (set.count == set.last - set.first + 1) {
    set.kind = IndexSet::Kind::range;
  } else if (set.first > 0) {
    // 0 ... first - 1 are missing; if they are missing periodically, the next gap tells the period.
    const std::int64_t next =
        std::find(members.begin() + set.first, members.end(), 0) - members.begin();
    if (is_all_but(members, next, set.first)) {
      set.kind = IndexSet::Kind::all_but_some;
      set.period = next;
      set.width = set.first;
    }
  }
  return set;
}

Pattern describe(const Mask& mask) {
  Pattern pattern;
  std::vector<char> rows(static_cast<std::size_t>(mask.rows), 0);
  std::vector<char> cols(static_cast<std::size_t>(mask.cols), 0);
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    for (std::int64_t col = 0; col < mask.cols; ++col) {
      if (mask(row, col) != 0) {
        rows[static_cast<std::size_t>(row)] = 1;
        cols[static_cast<std::size_t>(col)] = 1;
        ++pattern.count;
      }
    }
  }
  pattern.rows = recognise(rows);
  pattern.cols = recognise(cols);
  // Marked elements lie in marked rows and marked columns; if they are all of those, it is a
  // product.
  pattern.product = pattern.count == pattern.rows.count * pattern.cols.count;
  pattern.text = text_of(mask, pattern);
  return pattern;
}

}  // namespace onepass::verdict
