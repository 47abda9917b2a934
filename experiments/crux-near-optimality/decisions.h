// What each method decides about a case: paths, an order, levels. Everything comes from the policies and pure functions
// of src/traffic that schedule real jobs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/crux-near-optimality/random_case.h"
#include "topology/router.h"
#include "traffic/link_traffic.h"
#include "traffic/traffic_policy.h"

namespace fairlead::experiments::crux_near_optimality {

enum class Method : uint8_t {
  kCrux,
  kTacclStar,
  kSincronia,
  kVarys,
  kIntensity,  // Crux without its correction factor
  kWorst,      // no method: the worst decision there is, which shows how much there is to lose at all
};
inline constexpr size_t kNumMethods = 6;
// "crux", "taccl-star", …
std::string_view Name(Method method);

// Jobs that leave their host, most important first. The others share no link.
using JobOrder = std::vector<uint32_t>;

// Thread: one object per thread.
class Decisions {
 public:
  // `decided` must outlive this.
  explicit Decisions(const RandomCase& decided);

  // One aggregation switch for each whole job. kCrux, kIntensity and kTacclStar only: the others have no rule for paths.
  PathChoice ChoosePaths(Method method) const;

  // Args: `choice` is in force. Not kWorst.
  JobOrder OrderJobs(Method method, const PathChoice& choice) const;

  // Compression of an order: Crux's, top ranks (kSincronia), or groups of equal size (kTacclStar, kVarys).
  Levels CompressOrder(Method method, const JobOrder& order, const PathChoice& choice) const;

  // Pairs of jobs (most important first) that share a network link under `choice`.
  std::vector<std::pair<uint32_t, uint32_t>> SharingPairs(const JobOrder& order, const PathChoice& choice) const;

  // Jobs that leave their host, ascending.
  const JobOrder& participants() const { return participants_; }

 private:
  traffic::TrafficPlan Plan(const traffic::TrafficPolicy& policy, const PathChoice& choice) const;
  Levels CompressAsCrux(const JobOrder& order, const PathChoice& choice) const;

  const RandomCase* decided_;
  topology::Router router_;
  traffic::LinkTable links_;
  JobOrder participants_;
};

}  // namespace fairlead::experiments::crux_near_optimality
