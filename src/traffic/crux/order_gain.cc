#include "traffic/crux/order_gain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.h"
#include "traffic/gpu_intensity.h"

namespace fairlead::traffic::crux {
namespace {

// Sending speed as a factor of that alone -> seconds of an iteration.
double IterationAt(const LinkUser& job, double factor) {
  const double compute = job.compute_time.value();
  return std::max(compute, job.start_fraction * compute + job.communication_time.value() / factor);
}

double SoloTime(const LinkUser& job) { return IterationAt(job, 1); }

// Speed, as a part of that alone, beside a job that leaves it `factor` of its sending speed while it sends.
double SpeedBeside(const LinkUser& job, const LinkUser& other, double factor) {
  if (factor >= 1) return 1;
  const double solo = SoloTime(job);
  const double sending = std::min(1.0, other.communication_time.value() / SoloTime(other));
  if (other.communication_time.value() < solo) {
    const double mean = 1 - sending * (1 - factor);
    return mean > 0 ? solo / IterationAt(job, mean) : 0;
  }
  const double inside = factor > 0 ? solo / IterationAt(job, factor) : 0;
  return 1 - sending * (1 - inside);
}

// How many times longer an iteration takes. A stalled job counts as one that is a hundred times slower.
double SlowdownAt(double speed) { return 1 / std::max(speed, 0.01); }

// The part of a link that a job has next to an equal one: the rest left by that one, or the share of its own flows.
double EqualFactor(const LinkUser& job, const LinkUser& other) {
  const double fair = static_cast<double>(job.num_flows) / (job.num_flows + other.num_flows);
  return std::min(1.0, std::max(fair, 1 - other.demand) / job.demand);
}

// Everybody on the links that more than one job uses.
class LinkUsers {
 public:
  LinkUsers(std::span<const OrderedJob> jobs, const LinkTable& links)
      : by_link_(links.size()), flows_(links.size(), 0) {
    LinkTrafficMeter meter(links);
    for (uint32_t rank = 0; rank < jobs.size(); ++rank) {
      if (jobs[rank].is_period_known) Add(rank, jobs[rank], links, &meter);
    }
  }

  struct User {
    uint32_t rank;
    LinkUser job;
  };
  const IdVector<LinkId, std::vector<User>>& by_link() const { return by_link_; }

 private:
  void Add(uint32_t rank, const OrderedJob& job, const LinkTable& links, LinkTrafficMeter* meter) {
    const JobTraffic traffic = meter->Measure(*job.iteration, job.paths);
    const JobProfile profile = ComputeProfile(JobId(0), *job.iteration, traffic);
    const double time = profile.communication_time.value();
    if (!(time > 0) || std::isinf(time)) return;
    for (const model::Path& path : job.paths) {
      for (const LinkId link : path) ++flows_[link];
    }
    for (const LinkBytes& use : traffic.links) {
      if (!links.can_be_shared(use.link)) continue;
      const double busy = (use.bytes / links.capacity(use.link)).value();
      by_link_[use.link].push_back({rank,
                                    {.num_gpus = static_cast<double>(job.num_gpus),
                                     .compute_time = profile.compute_time,
                                     .communication_time = profile.communication_time,
                                     .start_fraction = profile.start_fraction,
                                     .demand = std::min(1.0, busy / time),
                                     .num_flows = std::max(1u, flows_[use.link])}});
    }
    for (const model::Path& path : job.paths) {
      for (const LinkId link : path) flows_[link] = 0;
    }
  }

  IdVector<LinkId, std::vector<User>> by_link_;
  IdVector<LinkId, uint32_t> flows_;  // 0 between jobs
};

}  // namespace

double GainOfOrder(const LinkUser& upper, const LinkUser& lower) {
  if (upper.demand + lower.demand <= 1) return 0;
  const double left = std::clamp((1 - upper.demand) / lower.demand, 0.0, 1.0);
  const double upper_as_equal = SpeedBeside(upper, lower, EqualFactor(upper, lower));
  const double lower_as_equal = SpeedBeside(lower, upper, EqualFactor(lower, upper));
  const double lower_below = SpeedBeside(lower, upper, left);
  const double gpus = upper.num_gpus * (1 - upper_as_equal) - lower.num_gpus * (lower_as_equal - lower_below);
  const double slowdowns = SlowdownAt(upper_as_equal) - 1 - (SlowdownAt(lower_below) - SlowdownAt(lower_as_equal));
  return std::min(gpus, std::min(upper.num_gpus, lower.num_gpus) * slowdowns);
}

void WeighByGain(std::span<const OrderedJob> jobs, const LinkTable& links, ContentionDag* dag) {
  FL_CHECK(jobs.size() == dag->num_jobs);
  struct Meeting {
    double demand = 0;  // of both, on the link
    double gain = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Meeting> worst;  // by (upper, lower)
  const LinkUsers users(jobs, links);
  for (size_t link = 0; link < links.size(); ++link) {
    const auto& here = users.by_link()[LinkId(link)];
    for (size_t u = 0; u < here.size(); ++u) {
      for (size_t v = u + 1; v < here.size(); ++v) {
        const double demand = here[u].job.demand + here[v].job.demand;
        Meeting& meeting = worst[{here[u].rank, here[v].rank}];
        if (demand <= meeting.demand) continue;
        meeting = {demand, GainOfOrder(here[u].job, here[v].job)};
      }
    }
  }
  for (Edge& edge : dag->edges) {
    const auto found = worst.find({edge.upper, edge.lower});
    edge.weight = found == worst.end() ? 0 : found->second.gain;
  }
}

}  // namespace fairlead::traffic::crux
