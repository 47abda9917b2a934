// Merges the results of the ports of a scan, so that each route is reported once.
#pragma once

#include "controller/host_messages.h"

namespace fairlead::controller {

// What came of an order before anything has.
PortScanSeen NothingSeenOf(const PortScanWanted& scan);

// Gives the ports to the route of the scan that is alike but for the RTT, of which the lesser one stays; else adds it.
// Cost: O(routes of the scan).
void AddRoute(ProbedRoute route, PortScanSeen* scan);

// Adds what came of another part of the same order. Returns false, and does nothing, where they are of different ones.
bool AddPart(const PortScanSeen& part, PortScanSeen* scan);

}  // namespace fairlead::controller
