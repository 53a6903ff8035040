// Numbers as a user lists them on the command line: "256,512", "1024:4096:1024", "256:8192:x2".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onepass::driver {

/// The numbers of `text`, which was given for `option`: single ones and ranges, with commas
/// between. A range start:end:step has its end if it comes by it; start:end:x2 doubles. Throws
/// BadInput.
std::vector<std::int64_t> numbers_of(const std::string& option, const std::string& text);

/// What stands between the commas of `text`.
std::vector<std::string> words_of(const std::string& text);

}  // namespace onepass::driver
