#include "sim/carried_account.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/timeline.h"
#include "traffic/path_bundle.h"

namespace fairlead::sim {

CarriedAccount::CarriedAccount(const topology::Fabric& fabric, uint32_t num_bins, int64_t bin_ns)
    : fabric_(fabric),
      num_bins_(num_bins),
      bin_ns_(bin_ns),
      carried_{IdVector<LinkId, double>(fabric.num_links()), IdVector<LinkId, std::vector<float>>(fabric.num_links())} {
}

size_t CarriedAccount::BinOf(SimTime time) const {
  return std::min(static_cast<size_t>(time.ns() / bin_ns_), size_t{num_bins_} - 1);
}

void CarriedAccount::Settle(JobState& job, SimTime now) {
  if (job.paths.empty() || now < job.settled_at) return;  // it has not begun
  if (job.is_phase_running) {
    const double fraction = job.SlowestFraction();
    BinnedSum::Spread(job.activity_since, now, static_cast<float>(fraction - job.activity_counted),
                      job.activity[job.phase], bin_ns_);
    job.activity_counted = fraction;
    job.activity_since = now;
  }
  // Nothing was sent before the paths were set, or after now.
  const size_t first_bin = BinOf(job.settled_at);
  const size_t last_bin = BinOf(now);
  for (size_t t = 0; t < job.transfers.size(); ++t) {
    const double carried = job.CarriedBytes(t);
    job.sent_before[t] += carried;
    Book(job, t, carried, first_bin, last_bin);
    const bool is_partial = job.is_phase_running && job.transfers[t].phase == job.phase;
    job.settled_bytes[t] = is_partial ? job.transfers[t].bytes - job.remaining[t] : 0;
  }
  std::fill(job.phase_runs.begin(), job.phase_runs.end(), 0);
  for (std::vector<float>& bins : job.activity) std::fill(bins.begin(), bins.end(), 0.0f);
  job.settled_at = now;
}

// Of each flow of a transfer.
void CarriedAccount::Book(const JobState& job, size_t t, double carried, size_t first_bin, size_t last_bin) {
  const Transfer& transfer = job.transfers[t];
  const std::vector<float>& activity = job.activity[transfer.phase];
  // Of a phase under way this transfer may have done more or less than the others: the bins share out what it did.
  const float all = std::accumulate(activity.begin() + static_cast<ptrdiff_t>(first_bin),
                                    activity.begin() + static_cast<ptrdiff_t>(last_bin) + 1, 0.0f);
  const float per_activity = all > 0 ? static_cast<float>(carried) / all : 0;
  for (const uint32_t flow : transfer.flows) {
    const uint32_t parts = traffic::NumParts(job.paths[flow]);
    for (const LinkId link : job.paths[flow]) {
      carried_.total[link] += carried / parts;
      if (!topology::IsNetwork(fabric_.tier(link))) continue;
      std::vector<float>& bins = carried_.bins[link];
      bins.resize(num_bins_, 0.0f);
      for (size_t b = first_bin; b <= last_bin; ++b) bins[b] += activity[b] * per_activity / static_cast<float>(parts);
    }
  }
}

}  // namespace fairlead::sim
