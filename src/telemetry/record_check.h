// Do records fit the layout of their job? Ids in range, nothing appears twice, durations not negative.
#pragma once

#include <set>
#include <string>

#include "model/telemetry.h"

namespace fairlead::telemetry {

// Checks records of one job. What a check returns is empty when all is well, else the path of what is wrong, what was
// expected and what was found: ".operations[2].communicator: expected one of the layout's 4, found 7".
class RecordChecker {
 public:
  // Of the layout alone: hosts are valid, ranks of communicators exist and occur once. Cost: linear.
  static std::string Check(const model::JobLayout& layout);

  // `layout` has passed Check() and outlives the checker.
  explicit RecordChecker(const model::JobLayout& layout);

  // Job and ids are the layout's; no operation, progress or connection appears twice; durations are not negative. What
  // ranks say may contradict each other: that is for the diagnosis. Cost: O(n log n) of the report.
  std::string Check(const model::RankReport& report) const;
  std::string Check(const model::HostReport& report) const;

 private:
  std::string CheckOperation(const model::OperationRecord& operation) const;
  std::string CheckProgress(const model::ProgressRecord& progress) const;
  std::string CheckConnection(const model::ConnectionRecord& connection) const;

  const model::JobLayout* layout_;
  std::set<HostId> hosts_;
};

}  // namespace fairlead::telemetry
