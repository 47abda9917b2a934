#include "experiments/public_data.h"

#include <cstdlib>

namespace fairlead::experiments {

std::string PublicDataPath(std::string_view name) {
  const char* chosen = std::getenv("FAIRLEAD_PUBLIC_DATA");
  const std::string folder = chosen != nullptr ? chosen : FAIRLEAD_PUBLIC_DATA_DIR;
  return folder + "/" + std::string(name);
}

}  // namespace fairlead::experiments
