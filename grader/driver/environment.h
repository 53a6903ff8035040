// What this process needs of the machine, before anything else.
#pragma once

namespace onepass::driver {

/// Opens what of standard input, output and error was closed, so that no file of ours takes its
/// number: writing there still fails. Ctrl-C, a reader that is gone and a
/// file that may not grow end nothing by themselves from now on; compilers speak the language that
/// we read.
void prepare_process();

/// Raises the soft limits on open files, stack and addresses as far as is good for us. Throws
/// GraderFault if the hard ones are too low to work at all.
void require_limits();

}  // namespace onepass::driver
