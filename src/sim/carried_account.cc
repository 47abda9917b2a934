#include "sim/carried_account.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/timeline.h"
#include "traffic/path_bundle.h"

namespace fairlead::sim {

CarriedAccount::CarriedAccount(const topology::Fabric& fabric, uint32_t num_bins, int64_t bin_ns)
    : fabric_(fabric),
      num_bins_(num_bins),
      bin_ns_(bin_ns),
      carried_{IdVector<LinkId, double>(fabric.num_links()), IdVector<LinkId, std::vector<float>>(fabric.num_links())},
      gathered_(fabric.num_links()) {}

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
    const uint32_t phase = job.transfers[t].phase;
    const double carried = job.CarriedBytes(t);
    job.sent_before[t] += carried;
    Gather(job, t, carried);
    const bool is_partial = job.is_phase_running && phase == job.phase;
    job.settled_bytes[t] = is_partial ? job.transfers[t].bytes - job.remaining[t] : 0;
    const bool is_last = t + 1 == job.transfers.size() || job.transfers[t + 1].phase != phase;
    if (is_last) Book(job.activity[phase], first_bin, last_bin);
  }
  std::fill(job.phase_runs.begin(), job.phase_runs.end(), 0);
  for (std::vector<float>& bins : job.activity) std::fill(bins.begin(), bins.end(), 0.0f);
  job.settled_at = now;
}

// Args: carried: bytes of each flow of the transfer.
void CarriedAccount::Gather(const JobState& job, size_t transfer, double carried) {
  if (carried == 0) return;
  for (const uint32_t flow : job.transfers[transfer].flows) {
    const double of_part = carried / traffic::NumParts(job.paths[flow]);
    for (const LinkId link : job.paths[flow]) {
      if (gathered_[link] == 0) links_.push_back(link);
      gathered_[link] += of_part;
    }
  }
}

// Of a phase under way one transfer may have done more or less than the others: the bins share out what all did.
void CarriedAccount::Book(const std::vector<float>& activity, size_t first_bin, size_t last_bin) {
  const float all = std::accumulate(activity.begin() + static_cast<ptrdiff_t>(first_bin),
                                    activity.begin() + static_cast<ptrdiff_t>(last_bin) + 1, 0.0f);
  for (const LinkId link : links_) {
    const double bytes = std::exchange(gathered_[link], 0);
    carried_.total[link] += bytes;
    if (all <= 0 || !topology::IsNetwork(fabric_.tier(link))) continue;
    std::vector<float>& bins = carried_.bins[link];
    bins.resize(num_bins_, 0.0f);
    const float per_activity = static_cast<float>(bytes) / all;
    for (size_t b = first_bin; b <= last_bin; ++b) bins[b] += activity[b] * per_activity;
  }
  links_.clear();
}

}  // namespace fairlead::sim
