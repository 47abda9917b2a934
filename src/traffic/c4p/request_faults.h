// What is wrong with a request for paths, in words; empty where nothing is.
//
// A request is judged twice: by itself, against the fabric and the limits of path_messages.h, and against the
// connection that has its name already. Announcements are judged as the requests that they repeat. What passes both
// can be given a path: components behind these do not look again.
#pragma once

#include <string>

#include "topology/fabric.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

// Whatever else is known. Args: lease: whose request it is.
std::string FindFault(const topology::Fabric& fabric, LeaseId lease, const ConnectionRequest& request);

// Whether a name that is taken is taken by something else. Args: known: who has the name.
std::string FindConflict(const topology::Fabric& fabric, const ConnectionState& known, LeaseId lease,
                         const ConnectionRequest& request);

}  // namespace fairlead::traffic::c4p
