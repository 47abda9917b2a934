// How far is the clock of each host off the others?
//
// Problem     instants of ranks are on their hosts' clocks, which differ by milliseconds or more and drift; lateness
//             can be compared between hosts only once that is taken out.
// Notation    end(h) = middle of the instants at which ranks of host h left an operation, on the clock of h
//             ref = median over hosts of end(h) - offset(h)
// Method      All ranks leave an operation that needs all of them within a small bound of each other. So each completed
//             one gives an estimate end(h) - ref for each of its hosts; the offset is the median of a host's last
//             kKept estimates, which follows drift and forgets operations that were left unevenly.
// Cost        O(ranks of the operation) per operation; kKept numbers per host.
// Guarantees  hosts whose operations share hosts, directly or through others, become comparable; a host with wild
//             estimates corrupts no other.
// Differs     the page takes one median over all operations; clocks drift, so we take it over the last few.
// Reference   docs/spec/c4.md section 3.3.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "diagnosis/c4d/completed_operation.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class ClockOffsets {
 public:
  explicit ClockOffsets(const model::JobLayout& layout);

  // Operations that ranks leave together tell something; others, and those of one host, are left out. Ranks must be
  // those of the layout.
  void Add(const CompletedOperation& operation);

  // What the clock of the rank's host shows beyond a common time; 0 where nothing is known. Only differences mean
  // anything.
  Seconds OffsetOf(model::RankId rank) const { return Seconds(hosts_[host_of_[rank.index()]].offset); }
  // The last estimates lie within this of the offset; infinite where there are none.
  Seconds ErrorBoundOf(model::RankId rank) const;

 private:
  static constexpr size_t kKept = 9;
  struct Host {
    std::array<double, kKept> estimates = {};  // a ring
    uint64_t num_estimates = 0;
    double offset = 0;  // seconds
  };
  // Of one operation, in scratch.
  struct Departure {
    uint32_t host = 0;
    double end = 0;  // seconds after the operation's first instant
  };

  void AddEstimate(Host& host, double estimate);

  std::vector<uint32_t> host_of_;  // [rank] dense
  std::vector<Host> hosts_;
  std::vector<Departure> departures_;
  std::vector<double> scratch_;
};

}  // namespace fairlead::diagnosis::c4d
