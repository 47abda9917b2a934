// What this process has used of the machine so far.
#pragma once

namespace fairlead {

// Most memory this program has had resident, in MB (1e6 bytes). Not getrusage(): its maximum includes the process that
// called exec().
double PeakRssMb();

// User and system seconds of all its threads.
double CpuSeconds();

}  // namespace fairlead
