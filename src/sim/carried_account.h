// What links have carried: bytes of jobs are booked where their paths led, before the paths change.
//
// Method      A job counts how its phases progress in the bins of the timeline (JobState::activity). When its paths are
//             about to change, or it ends, what it sent since they were set is booked on their links, shared out over
//             the bins by that activity.
// Guarantees  bytes in = bytes out: the sums over all links of a flow's path are what it sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "sim/job_state.h"
#include "sim/result_collection.h"
#include "topology/fabric.h"

namespace fairlead::sim {

class CarriedAccount {
 public:
  // The fabric must outlive this. Args: bins of the timeline: num_bins >= 1, of bin_ns each.
  CarriedAccount(const topology::Fabric& fabric, uint32_t num_bins, int64_t bin_ns);

  // Books the bytes that the job has sent since its paths were set, or since the last call. Its state must be up to date
  // at `now`. Nothing happens while it has no paths, or has not begun.
  void Settle(JobState& job, SimTime now);

  const CarriedBytes& carried() const { return carried_; }

 private:
  size_t BinOf(SimTime time) const;
  void Gather(const JobState& job, size_t transfer, double carried);
  void Book(const std::vector<float>& activity, size_t first_bin, size_t last_bin);

  const topology::Fabric& fabric_;
  uint32_t num_bins_;
  int64_t bin_ns_;
  CarriedBytes carried_;
  // Bytes of a phase that are being booked, and the links that they are on.
  IdVector<LinkId, double> gathered_;
  std::vector<LinkId> links_;
};

}  // namespace fairlead::sim
