#include "races/between.h"

#include "findings/texts.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

/// Does the line of a call by `caller` lie below the first access and above the second one? In a
/// loop, whose end leads back to the second access: below both.
bool lies_between(const SourceLine& call, const SourceLine& first, const SourceLine& second,
                  bool by_second) {
  if (call.file != first.file || call.file != second.file || call.line <= first.line) return false;
  return first.line < second.line ? call.line < second.line : by_second;
}

}  // namespace

std::string LastCalls::about(const Call& call, const Racer& first, const Racer& second) {
  const std::string start = std::string("The ") + operation_name(call.operation) + "() in " +
                            line_text(call.site) + " lies between, but ";
  if (call.operation != WarpOperation::sync) {
    return start + "it orders no accesses to memory.";
  }
  if (first.thread / 32 != second.thread / 32) {
    return start + "only the lanes of one warp wait for each other there.";
  }
  for (const unsigned thread : {first.thread, second.thread}) {
    if (!(call.mask >> thread % 32 & 1)) {
      return start + "its mask " + mask_text(call.mask) + " leaves out lane " +
             std::to_string(thread % 32) + '.';
    }
  }
  return "";
}

const LastCalls::Call* LastCalls::last_call(unsigned thread) const {
  const Call& call = calls_.running()[thread];
  return call.phase == ordering_.phase_begin() ? &call : nullptr;
}

std::string LastCalls::what_lies_between(const Racer& first, const Racer& second) const {
  for (const Racer* racer : {&second, &first}) {
    const Call* call = last_call(racer->thread);
    if (call != nullptr && lies_between(source_line(call->site), source_line(first.site),
                                        source_line(second.site), racer == &second)) {
      return about(*call, first, second);
    }
  }
  if (ordering_.has_fenced(first.thread) || ordering_.has_fenced(second.thread)) {
    return "A memory fence makes no other thread wait: it orders the accesses of the thread that "
           "calls it.";
  }
  return "";
}

}  // namespace simulator
