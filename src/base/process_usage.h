// What this process has used of the machine so far.
#pragma once

namespace fairlead {

// Most memory the process has had resident, in MB (1e6 bytes).
double PeakRssMb();

// User and system seconds of all its threads.
double CpuSeconds();

}  // namespace fairlead
