// What the controller of a lab says it has found: GET /v1/findings, read as any other program would.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::lab {

struct PublishedFinding {
  std::string job;
  uint64_t id = 0;
  std::string syndrome;               // model::Name()
  std::vector<std::string> culprits;  // for people
  std::vector<std::string> hosts;     // of the culprits
  std::vector<uint32_t> ranks;
  std::optional<double> confirmed_at_s;  // since 1970; nothing: it is suspected only
  std::optional<double> cleared_at_s;    // nothing: it holds
  double confidence = 0;
  std::string action;  // that is recommended; model::Name()
  std::string text;

  friend bool operator==(const PublishedFinding&, const PublishedFinding&) = default;
};

// Members that are missing or mistyped are as of an empty finding. Errors: kUnavailable: no such JSON.
Result<std::vector<PublishedFinding>> ParseFindings(std::string_view text);

// Args: page: "127.0.0.1:8480". Errors: kUnavailable: nothing answers there, or something unexpected.
Result<std::vector<PublishedFinding>> GetFindings(const std::string& page);

}  // namespace fairlead::lab
