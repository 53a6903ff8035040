// Static __shared__ variables lie side by side: who runs a pointer past the end of one finds
// himself in the next, and an access there is one of that variable. g++ knows the end of an array
// where it is indexed itself, and no longer in a function that is given a pointer. So the assembly
// gets room behind each, which belongs to no variable: what the simulator sees there is out of
// bounds.
#pragma once

#include <string>

namespace onepass::driver {

/// The assembly with room behind each thread_local variable, which is what shared ones are made of:
/// as much as the variable has, in whole 128 bytes so that all lie in the banks where they lay.
std::string with_room_behind_shared(const std::string& assembly);

}  // namespace onepass::driver
