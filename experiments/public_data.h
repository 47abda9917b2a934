// Where the public data sets lie that some experiments compare with, and that Fairlead does not ship.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::experiments {

// Path of `name` (such as "pollux-osdi21") in the folder of public data sets: $FAIRLEAD_PUBLIC_DATA where it is set,
// else the folder that the build named (FAIRLEAD_PUBLIC_DATA_DIR: shared/data beside the source tree). Nothing need be
// there.
std::string PublicDataPath(std::string_view name);

}  // namespace fairlead::experiments
