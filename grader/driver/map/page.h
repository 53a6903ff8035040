// The page that `onepass map` writes. What it looks like and does is in map/: HTML, CSS and
// JavaScript to be read as they are.
#pragma once

#include <string>

#include "driver/report.h"

namespace onepass::driver {

/// map/page.html with its style and scripts; it has @DATA@ where the data goes.
extern const char* const kMapTemplate;

/// A page that is whole in itself. `map`: the JSON of verdict/map/access_map.h, and
///
///   source: {name, text}: the kernel's file, by the name that launches[].lines[].file gives it
///   naive: is it the chapter's naive version?
///   first_launch: index of the launch to show first
std::string map_page(const Json& map);

}  // namespace onepass::driver
