// Quoted code is the real source. A block of C++ in a chapter's page is either quoted, and then its
// lines stand in the file that its mark names, or a sketch with gaps for the reader to fill:
//
//     <!-- quoted from grader/include/onepass/rmsnorm.h -->
//     <!-- sketch -->
//
// stands on the line before the opening ```. A quote is a run of whole lines. It may be moved to
// the left, all of it by as much, and a line `...` or `// ...` stands for one or more lines that
// are left out. What a TODO leaves out of a solution is never quoted: it would spoil the exercise.
#pragma once

#include "page.h"

namespace onepass::docs {

/// Of the C++ in a page.
Complaints check_quotes(const Page& page, const ReadFile& read);

}  // namespace onepass::docs
