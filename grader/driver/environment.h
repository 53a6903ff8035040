// What this process needs of the machine, before anything else.
#pragma once

namespace onepass::driver {

/// Opens what of standard input, output and error was closed, so that no file of ours takes its
/// number: writing there still fails. From now on writing to a reader that is gone, or into a file
/// that may not grow, fails too, where it would end this process; Ctrl-C is noted (interrupt.h);
/// and compilers speak the language that we read.
void prepare_process();

/// Raises the soft limits on open files, stack, addresses and processor time as far as is good for
/// us. Throws GraderFault if the hard ones are too low to work.
void require_limits();

}  // namespace onepass::driver
