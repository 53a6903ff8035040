// Every load and store of a kernel passes here, before it happens.
//
// The address alone says what memory it is: device memory (a range of its own), static shared
// memory (the thread-local block), dynamic shared memory (a buffer), the thread's own stack, the
// launch's arguments, or the program's globals. Anything else is no memory of the device.
//
// Checks that find a fault from which a GPU does not recover end the launch; the others make a
// finding and go on.
#pragma once

#include <cstdint>

#include "simulator.h"
#include "source/source_lines.h"

namespace simulator {

struct Access {
  std::uintptr_t address;
  unsigned size;       // bytes, 1 to 16
  unsigned alignment;  // that the instruction needs
  AccessType type;
  CodeAddress site;
  bool is_atomic = false;  // type atomic, and volatile loads and stores
};

/// Checks and counts one access of the running thread; in host code, only that it is not the
/// device's memory. Returns if the access may happen.
///
/// Accesses while a finding is written are not the kernel's: of the standard library's templates
/// the linker keeps one copy, and that may be the instrumented one of the student's program.
void check_access(const Access& access);

/// Ends the launch because memory that is not there was touched by code without instrumentation.
[[noreturn]] void stop_for_fault(std::uintptr_t address, CodeAddress site);

}  // namespace simulator
