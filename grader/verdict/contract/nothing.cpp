#include "verdict/contract/nothing.h"

#include <algorithm>

#include "verdict/contract/call.h"
#include "verdict/session/session.h"

namespace onepass::verdict::contract {

void expect_nothing_done(const Function& function, const std::string& sentence) {
  Arguments arguments;
  arguments.seed = session().random().bits(0);
  for (const Size& size : function.sizes) {
    // Two and not one: who takes a channel or head for another still finds numbers.
    arguments.sizes[size.name] = std::max<std::int64_t>(2, size.least);
  }
  for (const Size& size : function.sizes) {
    if (size.least == 0) {
      arguments.none = size.name;
      session().expect_untouched(call(function, Dtype::fp32, arguments), sentence);
    }
  }
}

}  // namespace onepass::verdict::contract
