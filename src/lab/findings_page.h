// What the controller of a lab says it has found, GET /v1/findings and others, read as any other program would.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "wire/cluster_records.h"

namespace fairlead::lab {

inline constexpr int kAnswerPatience = 5;

// Args: page: "127.0.0.1:8480"; patience_s: how long each part of an answer may take.
// Errors: kUnavailable: nothing answers there, or something unexpected.
Result<std::vector<wire::LiveFinding>> GetFindings(const std::string& page, int patience_s = kAnswerPatience);
Result<std::vector<wire::LiveConnection>> GetConnections(const std::string& page, int patience_s = kAnswerPatience);
Result<std::vector<wire::LiveEvent>> GetEvents(const std::string& page, int patience_s = kAnswerPatience);

}  // namespace fairlead::lab
