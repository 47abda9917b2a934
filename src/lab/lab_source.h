// Where the fabric of a lab comes from: a fabric file, or the scenario that the simulator would run on it.
#pragma once

#include <string>

#include "base/status.h"
#include "topology/fabric.h"

namespace fairlead::lab {

// A file with `fabric` as its only key is a fabric; every other one is read as a scenario, and provides its own.
// Errors: those of topology::LoadFabricFile and sim::LoadScenario, with file and line.
Result<topology::Fabric> LoadLabFabric(const std::string& path);

// The fabric alone of such a file at the speeds of a lab, as the text of a fabric file that may lie anywhere. What the
// lab's controller is given, since the bytes that agents count are those of the lab. Args: scale: LabOptions::scale.
// Errors: as above.
Result<std::string> DescribeLabFabric(const std::string& path, double scale);

}  // namespace fairlead::lab
