// Which names of others a student's object may ask for, and which it may not define. By class: a
// name that is in none of them is refused, whatever it does.
#pragma once

#include <string>

namespace onepass::driver {

/// The calls that a compiler puts in, operators new and delete, what a
/// launcher has a use for of CUDA's runtime, what the
/// simulator's headers call, mathematics, memory, text and printing of C, the end of the program,
/// and the standard library's containers, strings, streams and exceptions. `name` is mangled.
bool may_ask_for(const std::string& name);

/// A definition of its own: a C++ name, and none of the standard library, the simulator or the
/// worker. Templates and inline functions (`weak`) of those are instantiated in every object.
bool may_define(const std::string& name, bool weak);

/// A variable outside of every namespace, whose name is as it was written: none that begins with _
/// or cuda, or that a library has.
bool may_be_variable(const std::string& name);

/// As a demangler tells it; the name itself if it is none.
std::string demangled(const std::string& name);

/// As the student wrote it, without arguments: "fork", "simulator::take_findings".
std::string readable_name(const std::string& name);

/// May a kernel call this library's function, given by its mangled name? nvcc has a version of it
/// for the device, or the compiler has put the call there.
bool may_ask_for_in_kernels(const std::string& name);

/// What to say of a kernel that calls it, if that is more than that it is the host's: of the heap,
/// exceptions and the runtime library. "" of all others.
std::string about_kernels_without(const std::string& name);

}  // namespace onepass::driver
