// What the controller of a lab says it has found: GET /v1/findings, read as any other program would.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "wire/cluster_records.h"

namespace fairlead::lab {

// Args: page: "127.0.0.1:8480". Errors: kUnavailable: nothing answers there, or something unexpected.
Result<std::vector<wire::LiveFinding>> GetFindings(const std::string& page);

}  // namespace fairlead::lab
