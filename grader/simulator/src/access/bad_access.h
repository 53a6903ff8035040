// The findings about a single access that must not happen. Apart from access.cpp, so that the
// common path stays short.
#pragma once

#include "access/access.h"

namespace simulator {

[[noreturn]] void stop_for_misaligned(const Access& access);
[[noreturn]] void stop_for_stray_device_address(const Access& access);
[[noreturn]] void stop_for_stray_shared_address(const Access& access);
[[noreturn]] void stop_for_foreign_address(const Access& access);

void report_uninitialised_global(const Access& access);
void report_device_memory_on_host(const Access& access);

/// "reads 4 bytes"
std::string action_text(const Access& access);

}  // namespace simulator
