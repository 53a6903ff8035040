#include "races/between.h"

#include <algorithm>

#include "barriers/warp_operations.h"
#include "races/ordering.h"

namespace simulator {
namespace {

/// The last warp operation of a thread since the last barrier, or nullptr.
const WarpRequest* last_operation(const Thread& thread, const Block& block) {
  const WarpRequest& request = block.warps[thread.number / 32u].request[thread.lane];
  return request.interval >= block.phase_begin ? &request : nullptr;
}

/// Does the line of a call by `caller` lie below the first access and above the second one? In a
/// loop, whose end leads back to the second access: below both.
bool lies_between(const SourceLine& call, const SourceLine& first, const SourceLine& second,
                  bool by_second) {
  if (call.file != first.file || call.file != second.file || call.line <= first.line) return false;
  return first.line < second.line ? call.line < second.line : by_second;
}

std::string about(const WarpRequest& call, const Racer& first, const Racer& second) {
  const std::string start = std::string("The ") + operation_name(call.operation) + "() in line " +
                            std::to_string(source_line(call.site).line) + " lies between, but ";
  if (call.operation != WarpOperation::sync) {
    return start + "it orders no accesses to memory.";
  }
  if (first.thread.number / 32 != second.thread.number / 32) {
    return start + "only the lanes of one warp wait for each other there.";
  }
  for (const Thread* thread : {&first.thread, &second.thread}) {
    if (!(call.mask >> thread->lane & 1)) {
      return start + "its mask " + mask_text(call.mask) + " leaves out lane " +
             std::to_string(thread->lane) + '.';
    }
  }
  return "";
}

}  // namespace

std::string what_lies_between(const Racer& first, const Racer& second, const Block& block) {
  for (const Racer* racer : {&second, &first}) {
    const WarpRequest* call = last_operation(racer->thread, block);
    if (call != nullptr && lies_between(source_line(call->site), source_line(first.site),
                                        source_line(second.site), racer == &second)) {
      return about(*call, first, second);
    }
  }
  if (has_fenced(first.thread, block) || has_fenced(second.thread, block)) {
    return "A memory fence makes no other thread wait: it orders the accesses of the thread that "
           "calls it.";
  }
  return "";
}

}  // namespace simulator
