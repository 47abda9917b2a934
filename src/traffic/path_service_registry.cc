#include "traffic/path_service_registry.h"

#include "traffic/c4p/c4p_master.h"

namespace fairlead::traffic {

std::unique_ptr<PathService> CreatePathService(const topology::Fabric& fabric, const c4p::C4pOptions& options) {
  return std::make_unique<c4p::C4pMaster>(fabric, options);
}

}  // namespace fairlead::traffic
