// Ctrl-C: the run stops, its children are killed, and the report so far stays.
#pragma once

namespace onepass::driver {

/// From now on SIGINT, SIGTERM and SIGHUP do not end the process but set the flag below.
void catch_interrupts();

/// Has such a signal come? Whoever waits for something asks this now and then.
bool interrupted();

}  // namespace onepass::driver
