// The sizes that a launcher may look at, and what it launches for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chapters/common/calls.h"

namespace onepass::common {

/// All sizes small, `others`, and that one large, with what is a part of it. wide: what has an end
/// by its contract, such as columns.
verdict::contract::Sizes with_large(const Function& function, const std::string& large,
                                    std::int64_t number, std::int64_t others, std::int64_t wide);

/// Those that the function is told, but for what is a part of another.
std::vector<verdict::contract::Size> sizes_to_try(const Function& function);

/// Do threads share it, however large it is? Else it may be a number of blocks: columns are shared,
/// and what is added up over, unless it is a number of rows.
bool is_shared(const Function& function, const verdict::contract::Size& size);

/// Is any of the launches one of clusters?
bool any_in_clusters(const verdict::Session::Launches& launches);

}  // namespace onepass::common
