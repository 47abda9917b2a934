// Which incidents have ended, so that their traces can be sent: from the findings and the log of steering, looked at
// each second or so.
//
//     finding confirmed --> goes on --> cleared, and what steering began about its job is done --> over
//                                       (isolate, stop, take a spare, restart; until the job runs again)
//
// What is not answered within `patience` after the finding was cleared is not waited for. Tests of the host and its
// return come later, and are no part of the incident.
// Guarantees  each confirmed finding is over once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/finding_book.h"
#include "report/json_value.h"

namespace fairlead::service {

struct IncidentReporterOptions {
  double patience_s = 600;  // >= 0
  // How long it has to look over: what steering does about a finding follows it. >= 0
  double settle_s = 2;
};

class IncidentReporter {
 public:
  struct Incident {
    model::FindingId finding;
    bool is_over = false;  // false: there is news of one that goes on
  };

  explicit IncidentReporter(const IncidentReporterOptions& options = {}) : options_(options) {}

  // Args: now_s: since 1970, does not run backwards; steering: of /v1/steering. Returns what is new, by number.
  std::vector<Incident> Look(double now_s, std::span<const controller::WatchedFinding> findings,
                             const report::Json& steering);

 private:
  struct Known {
    size_t num_lines = 0;          // of the log, about it
    double looks_over_since = -1;  // negative: it does not
    bool is_over = false;
  };

  const IncidentReporterOptions options_;
  std::map<model::FindingId, Known> known_;
};

}  // namespace fairlead::service
