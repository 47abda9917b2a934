#include "traffic/link_traffic.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "traffic/path_bundle.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic {
namespace {

Seconds TimeOn(double bytes, BytesPerSecond capacity) {
  if (capacity.value() <= 0) return Seconds(std::numeric_limits<double>::infinity());
  return Bytes(bytes) / capacity;
}

// Jobs on each link that more than one has, as compressed rows: jobs[first[row] .. first[row + 1]), ascending.
struct JobsOfLinks {
  std::vector<uint32_t> first;
  std::vector<uint32_t> jobs;

  size_t num_rows() const { return first.size() - 1; }
  std::span<const uint32_t> of(size_t row) const { return {jobs.data() + first[row], jobs.data() + first[row + 1]}; }
};

// Args: visit_links(job, visit): calls visit(link) for the links of a job, some more than once.
template <class VisitLinks>
JobsOfLinks CollectJobsOfSharedLinks(uint32_t num_jobs, const LinkTable& links, VisitLinks visit_links) {
  struct Seen {
    uint32_t last_user = 0;  // 1 + the last job on the link
    uint32_t row = 0;        // 1 + that of the link, once it has two jobs
  };
  std::vector<std::pair<uint32_t, uint32_t>> uses;  // row and job; by job, each link of a job once
  LazyIdVector<LinkId, Seen> seen(links.size());
  uint32_t num_rows = 0;
  for (uint32_t job = 0; job < num_jobs; ++job) {
    visit_links(job, [&](LinkId link) {
      if (!links.can_be_shared(link)) return;
      Seen& here = seen[link];
      if (here.last_user == job + 1) return;
      if (here.last_user != 0) {
        if (here.row == 0) {
          here.row = ++num_rows;
          uses.emplace_back(here.row - 1, here.last_user - 1);
        }
        uses.emplace_back(here.row - 1, job);
      }
      here.last_user = job + 1;
    });
  }
  JobsOfLinks result;
  result.first.assign(num_rows + size_t{1}, 0);
  for (const auto& [row, job] : uses) ++result.first[row + 1];
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.jobs.resize(uses.size());
  std::vector<uint32_t> next(result.first.begin(), result.first.end() - 1);
  for (const auto& [row, job] : uses) result.jobs[next[row]++] = job;
  return result;
}

// One bit per pair of jobs: the jobs of a link form a row of machine words that is or-ed into the row of each of them.
std::vector<std::vector<uint32_t>> FindMeetings(size_t num_jobs, const JobsOfLinks& users) {
  const size_t num_words = (num_jobs + 63) / 64;
  std::vector<uint64_t> meets(num_jobs * num_words, 0);
  std::vector<uint64_t> on_link(num_words, 0);
  for (size_t row = 0; row < users.num_rows(); ++row) {
    const std::span<const uint32_t> here = users.of(row);
    for (const uint32_t job : here) on_link[job / 64] |= uint64_t{1} << (job % 64);
    for (const uint32_t job : here) {
      uint64_t* of_job = &meets[job * num_words];
      for (size_t word = 0; word < num_words; ++word) of_job[word] |= on_link[word];
    }
    for (const uint32_t job : here) on_link[job / 64] = 0;
  }
  std::vector<std::vector<uint32_t>> result(num_jobs);
  for (size_t job = 0; job < num_jobs; ++job) {
    const std::span<const uint64_t> of_job = std::span(meets).subspan(job * num_words, num_words);
    result[job].reserve(std::accumulate(of_job.begin(), of_job.end(), size_t{0}, [](size_t sum, uint64_t bits) {
      return sum + static_cast<size_t>(std::popcount(bits));
    }));
    for (size_t word = 0; word < num_words; ++word) {
      for (uint64_t bits = of_job[word]; bits != 0; bits &= bits - 1) {
        const auto other = static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
        if (other != job) result[job].push_back(other);
      }
    }
  }
  return result;
}

}  // namespace

LinkTable MakeLinkTable(const TrafficSnapshot& snapshot) {
  const topology::Fabric& fabric = snapshot.router->fabric();
  return LinkTable(fabric.link_capacities(), fabric.link_tiers(), snapshot.health);
}

LinkTrafficMeter::LinkTrafficMeter(const LinkTable& links)
    : links_(links), phase_bytes_(links.size()), job_bytes_(links.size()) {}

JobTraffic LinkTrafficMeter::Measure(const model::Iteration& iteration, std::span<const model::Path> paths) {
  FL_CHECK(paths.size() == iteration.flows.size());
  JobTraffic traffic;
  traffic.phases.reserve(iteration.phases.size());
  for (const model::CommunicationPhase& phase : iteration.phases) {
    traffic.phases.push_back(MeasurePhase(iteration, phase, paths));
    MovePhaseToJob(traffic.phases.back().is_private);
  }
  traffic.links.reserve(job_links_.size());
  for (const LinkId link : job_links_) {
    const double bytes = job_bytes_[link];
    job_bytes_[link] = 0;
    traffic.links.push_back({link, Bytes(bytes)});
    if (links_.is_network(link)) traffic.network_bytes += Bytes(bytes);
    const Seconds time = TimeOn(bytes, links_.capacity(link));
    const bool worse =
        time > traffic.communication_time || (time == traffic.communication_time && link < traffic.bounding_link);
    if (worse) {
      traffic.communication_time = time;
      traffic.bounding_link = link;
    }
  }
  job_links_.clear();
  return traffic;
}

PhaseTraffic LinkTrafficMeter::MeasurePhase(const model::Iteration& iteration, const model::CommunicationPhase& phase,
                                            std::span<const model::Path> paths) {
  for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
    const double bytes = iteration.flows[f].bytes.value() / NumParts(paths[f]);
    for (const LinkId link : paths[f]) {
      if (phase_bytes_[link] == 0) phase_links_.push_back(link);
      phase_bytes_[link] += bytes;
    }
  }
  PhaseTraffic result{Seconds(0), true};
  for (const LinkId link : phase_links_) {
    result.time = std::max(result.time, TimeOn(phase_bytes_[link], links_.capacity(link)));
    if (links_.can_be_shared(link)) result.is_private = false;
  }
  return result;
}

void LinkTrafficMeter::MovePhaseToJob(bool is_private) {
  if (!is_private && job_links_.empty()) {
    std::swap(phase_bytes_, job_bytes_);
    std::swap(phase_links_, job_links_);
    return;
  }
  for (const LinkId link : phase_links_) {
    if (!is_private) {
      if (job_bytes_[link] == 0) job_links_.push_back(link);
      job_bytes_[link] += phase_bytes_[link];
    }
    phase_bytes_[link] = 0;
  }
  phase_links_.clear();
}

std::vector<std::vector<uint32_t>> FindContention(std::span<const std::span<const model::Path>> jobs,
                                                  const LinkTable& links) {
  const auto visit_links = [&](uint32_t job, auto visit) {
    for (const model::Path& path : jobs[job]) {
      for (const LinkId link : path) visit(link);
    }
  };
  return FindMeetings(jobs.size(), CollectJobsOfSharedLinks(static_cast<uint32_t>(jobs.size()), links, visit_links));
}

std::vector<std::vector<uint32_t>> FindContention(std::span<const std::span<const LinkBytes>> jobs,
                                                  const LinkTable& links) {
  const auto visit_links = [&](uint32_t job, auto visit) {
    for (const LinkBytes& use : jobs[job]) visit(use.link);
  };
  return FindMeetings(jobs.size(), CollectJobsOfSharedLinks(static_cast<uint32_t>(jobs.size()), links, visit_links));
}

}  // namespace fairlead::traffic
