// How the cluster did in the last day: what was lost to which cause, and what was found and done about it, for each
// minute.
//
// A ring of equal periods; what is looked at more often within one is averaged, counters are told as what came in it.
// Each period is one record of the store, of the same name every day, so that the day survives the controller.
//
// Cost        memory: 100 bytes for each period; one write for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "controller/finding_book.h"
#include "controller/traffic_views.h"
#include "service/controller/traffic_json.h"
#include "store/store.h"

namespace fairlead::service {

// Of one moment. GPUs are GPUs' worth of time.
struct ClusterFigures {
  double jobs = 0;
  double gpus = 0;           // of jobs
  double lost_sharing = 0;   // by jobs without a finding, against their fastest iterations
  double lost_findings = 0;  // by jobs about which a finding holds; all GPUs of one that hangs
  double isolated_gpus = 0;  // of hosts that are away
  double findings = 0;       // that hold
  double isolated_hosts = 0;
  double links_not_up = 0;
  double hosts_connected = 0;
  double path_changes = 0;  // counter
  double actions = 0;       // counter: begun by steering
};

// Args: isolated_hosts: how many; gpus_per_host: of these.
ClusterFigures FiguresOf(std::span<const controller::JobOnFabric> jobs,
                         std::span<const controller::WatchedFinding> findings,
                         std::span<const controller::LinkOnFabric> links, std::span<const controller::HostView> hosts,
                         size_t isolated_hosts, double gpus_per_host);

struct ClusterHistoryOptions {
  SimDuration period = SimDuration(60'000'000'000);  // > 0
  size_t num_periods = 1440;                         // > 0
};

class ClusterHistory {
 public:
  static constexpr std::string_view kPrefix = "controller/history/";

  explicit ClusterHistory(const ClusterHistoryOptions& options = {}) : options_(options) {}

  // Takes up what an earlier controller has kept. What can't be read, or is older than the ring, is left out.
  void Restore(SimTime now, std::span<const store::Record> records);

  // Args: now since 1970, does not run backwards. Returns the record of a period that is over.
  std::optional<store::Change> Add(SimTime now, const ClusterFigures& figures);

  // {"period_s", "columns": ["at_s", "jobs", …], "rows": [[…]]}, oldest first, the one under way last. Periods in which
  // no controller ran have no row. Args: since_s: only those that begin then or later.
  Json ToJson(double since_s = 0) const;

 private:
  static constexpr size_t kNumFigures = 11;
  using Values = std::array<double, kNumFigures>;
  struct Period {
    int64_t at_s = 0;
    Values values = {};
  };

  static Values ValuesOf(const ClusterFigures& figures);
  // Means, and what counters came to.
  Period Average() const;
  void Keep(const Period& period);
  std::string KeyOf(int64_t at_s) const;
  int64_t period_s() const { return options_.period.ns() / 1'000'000'000; }

  const ClusterHistoryOptions options_;
  std::vector<Period> periods_;  // ascending; at most num_periods
  // Of the period under way.
  std::optional<int64_t> at_s_;
  size_t num_looks_ = 0;
  Values sums_ = {};
  Values first_ = {};  // counters at its beginning
  Values last_ = {};
};

}  // namespace fairlead::service
