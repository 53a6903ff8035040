// A chapter's exercises as its chapter.cpp lists them, which is told by cmake/chapter.cmake what
// the chapter and its page are called.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verdict/contract/measured.h"
#include "verdict/session/shapes.h"

namespace onepass::common {

/// section: of the chapter's page.
inline verdict::Exercise exercise(const std::string& name, const std::string& title,
                                  const std::string& section, verdict::Measurement measurement,
                                  bool optional = false) {
  return {ONEPASS_CHAPTER "/" + name, title, ONEPASS_CHAPTER_DOCS ", \"" + section + "\"",
          std::move(measurement), optional};
}

/// Shapes of an operator on rows.
inline std::vector<verdict::Shape> row_shapes(const std::vector<verdict::RowsByCols>& shapes) {
  std::vector<verdict::Shape> all;
  for (const auto& [rows, cols, dtype] : shapes) {
    all.push_back({{{"rows", rows}, {"cols", cols}}, dtype});
  }
  return all;
}

}  // namespace onepass::common
