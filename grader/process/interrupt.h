// Ctrl-C: whoever waits for a process stops waiting and ends it; what is known so far stays.
#pragma once

namespace onepass::process {

/// From now on SIGINT, SIGTERM and SIGHUP do not end this process but set the flag below.
void catch_interrupts();

/// Has such a signal come? Whoever waits for something asks this now and then.
bool interrupted();

}  // namespace onepass::process
