// A lab from the outside: bring it up, look at it, break its cables, take it down.
#pragma once

#include <atomic>
#include <string>

#include "base/status.h"
#include "lab/lab_folder.h"
#include "lab/lab_plan.h"
#include "lab/lab_state.h"
#include "lab/link_shaping.h"

namespace fairlead::lab {

// Brings a lab up in an open folder and remembers it there.
// Errors: kAlreadyExists: it is up; kFailedPrecondition: no right, or a kernel without something that labs need, saying
// what and what to do; kCancelled: `stop` turned true. After an error nothing of the lab is left.
Result<LabState> BringUp(const LabFolder& folder, const std::string& source, const LabPlan& plan,
                         const std::atomic<bool>& stop);

// Ends every process of the lab and everything it is made of. Fine when it is down already, or only half of it is
// there. `was_up`: whether there was anything to take down.
Status TakeDown(const LabFolder& folder, bool* was_up);

// Sets the health of a cable: 0 cuts it, 1 repairs it, in between it keeps that share of its speed. A cut cable loses
// its carrier at both ends, so that the switches at its ends stop using it at once; the others learn it after the lab's
// convergence time, in which this blocks. A repair is announced in the same order: carrier, time, routes. The change is
// noted (cable_changes.h). Errors:
// kUnavailable: the lab is gone, or a command failed in it.
Status SetCableHealth(const LabFolder& folder, LabState* state, CableId cable, double health);

// Gives what one end of a cable sends `share` > 0 of the cable's speed; 1 is all of it. It is not recorded: the next
// SetCableHealth() above 0 replaces it. Args: end: 0 or 1. Errors: kUnavailable, as above.
Status SetEndSpeed(const LabState& state, CableId cable, size_t end, double share);

// Gives the connections that pass the filter a speed of their own at that end, 0 < share < 1 of the cable's, and takes
// it away again. One at each end. Errors: as above.
Status SlowConnections(const LabState& state, CableId cable, size_t end, const ConnectionFilter& filter, double share);
Status EndSlowConnections(const LabState& state, CableId cable, size_t end);

}  // namespace fairlead::lab
