// Mistakes in y alone, which both exercises of chapter 4 can have.
#pragma once

#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::batchnorm {

void append_y_mistakes(std::vector<verdict::Oracle>& all);

}  // namespace onepass::batchnorm
