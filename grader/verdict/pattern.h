// Which elements are wrong, in words: "columns 256 to 999 of every row". The shape of a mistake is
// often enough to name it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verdict/compare.h"

namespace onepass::verdict {

/// A set of indices out of 0 ... size - 1, recognised.
struct IndexSet {
  enum class Kind {
    none,
    all,
    range,         // first ... last
    all_but_some,  // all but those with index % period < width (period = size: the first)
    other
  };
  Kind kind = Kind::none;
  std::int64_t size = 0;
  std::int64_t count = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t period = 0;
  std::int64_t width = 0;

  bool is_tail() const { return kind == Kind::range && first > 0 && last == size - 1; }
};

IndexSet recognise(const std::vector<char>& members);

struct Pattern {
  std::int64_t count = 0;
  bool product =
      false;         // the same columns in each of the rows: `rows` and `cols` describe it whole
  IndexSet rows;     // those with a marked element
  IndexSet cols;     // product: of each of these rows; otherwise those with a marked element
  std::string text;  // empty if nothing is marked
};

Pattern describe(const Mask& mask);

}  // namespace onepass::verdict
