// Creates the path service, for callers that must know no policy.
#pragma once

#include <memory>

#include "topology/fabric.h"
#include "traffic/c4p/c4p_options.h"
#include "traffic/path_service.h"

namespace fairlead::traffic {

// C4P's master (c4p/c4p_master.h). `fabric` must outlive it. Args: options valid.
std::unique_ptr<PathService> CreatePathService(const topology::Fabric& fabric, const c4p::C4pOptions& options);

}  // namespace fairlead::traffic
