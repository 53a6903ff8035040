// The one loop that inline PTX is simulated with: it asks a barrier until a phase is complete.
//
//     LAB_WAIT:                                            LAB_WAIT:
//       mbarrier.try_wait.parity.shared::cta.b64 P, ...;     mbarrier.try_wait ... P, ...;
//       @P bra DONE;                                  or     @!P bra LAB_WAIT;
//       bra LAB_WAIT;
//     DONE:
//
// In C++ it is a loop as well: who asks for the second time waits.
#pragma once

#include <string>
#include <vector>

#include "ptx_text.h"

namespace onepass::rewriter {

struct PtxWaitLoop {
  std::vector<std::size_t> labels;  // statements
  std::size_t asks;
  std::size_t sleeps;  // the statement `nanosleep` between; 0: there is none
  std::size_t end;     // the first statement behind it
};

bool is_label(const PtxStatement& statement);

/// The loop that the label at `first` begins. Throws PtxError for any other label.
PtxWaitLoop wait_loop_at(const std::vector<PtxStatement>& statements, std::size_t first);

}  // namespace onepass::rewriter
