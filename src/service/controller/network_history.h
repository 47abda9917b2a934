// How full each link was and what was not well with it in the last day: what the picture of the network shows of a
// past moment.
//
// A ring of equal periods. A period has the mean of the loads of its looks and the worst that was seen of each link, so
// a cable that was down for a moment is not missed. Whose jobs used a link then is not kept, nor are links inside of
// hosts. Each period is one record of the store, of the same name every day. Records of another fabric are left out.
//
// Cost        two bytes for each link and period before Zstandard packs them: at 288 periods and 204,800 links (10,240
//             hosts of 8 NICs), a third of them with one of nine loads at random, 18 MB; one write a period.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "report/topology_picture.h"
#include "store/store.h"
#include "topology/fabric.h"

namespace fairlead::service {

struct NetworkHistoryOptions {
  SimDuration period = SimDuration(300'000'000'000);  // whole seconds, > 0
  size_t num_periods = 288;                           // > 0
};

class NetworkHistory {
 public:
  static constexpr std::string_view kPrefix = "controller/network/";

  // Args: fabric: outlives it.
  explicit NetworkHistory(const topology::Fabric& fabric, const NetworkHistoryOptions& options = {});

  // Takes up what an earlier controller has kept of the same fabric. What can't be read, or is older than the ring, is
  // left out.
  void Restore(SimTime now, std::span<const store::Record> records);

  // Args: now since 1970, does not run backwards; conditions: [LinkId]. Returns the record of a period that is over.
  std::optional<store::Change> Add(SimTime now, std::span<const report::LinkCondition> conditions);

  // When the periods that are kept began, in seconds since 1970, ascending; those in which no controller ran, and the
  // one under way, are not among them.
  std::vector<int64_t> Begins() const;
  int64_t period_s() const { return options_.period.ns() / 1'000'000'000; }

  // [LinkId] of the period that `at_s` lies in; nothing: it is not kept. Loads are rounded up to 0.4 %, healths to 1 %.
  std::optional<std::vector<report::LinkCondition>> At(int64_t at_s) const;

 private:
  struct Period {
    int64_t at_s = 0;
    std::string packed;
  };

  // Two bytes a link of the network: first all loads, then all states.
  std::string Pack() const;
  std::optional<std::string> Unpack(std::string_view packed) const;

  const NetworkHistoryOptions options_;
  const size_t num_links_;             // of the fabric
  const std::vector<LinkId> network_;  // links, ascending
  const std::string fabric_mark_;      // eight bytes, of the names of these
  std::deque<Period> periods_;         // ascending; at most num_periods
  // Of the period under way.
  std::optional<int64_t> at_s_;
  size_t num_looks_ = 0;
  std::vector<float> load_sums_;              // [place in network_]
  std::vector<report::LinkCondition> worst_;  // [place in network_]
};

}  // namespace fairlead::service
