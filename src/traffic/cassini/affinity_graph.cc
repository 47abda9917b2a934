#include "traffic/cassini/affinity_graph.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/disjoint_sets.h"

namespace fairlead::traffic::cassini {
namespace {

// Links by the excess on them without shifts, descending.
std::vector<uint32_t> ByContention(uint32_t perimeter, std::span<const AffinityLink> links) {
  std::vector<double> contention;
  for (const AffinityLink& link : links) {
    FL_CHECK(link.jobs.size() >= 2 && link.jobs.size() == link.bursts.size());
    contention.push_back(TotalExcess(perimeter, link.bursts, std::vector<uint32_t>(link.jobs.size(), 0)));
  }
  std::vector<uint32_t> order(links.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return contention[a] > contention[b]; });
  return order;
}

class Forest {
 public:
  Forest(uint32_t perimeter, uint32_t num_jobs, std::span<const AffinityLink> links)
      : perimeter_(perimeter), links_(links), members_of_(links.size()), links_of_(num_jobs) {}

  void Grow();
  Alignment Align();

 private:
  void JoinLink(uint32_t link, DisjointSets* trees);
  void ShiftNeighbours(uint32_t link, uint32_t job, std::vector<std::optional<uint32_t>>* shifts,
                       std::vector<uint32_t>* reached) const;

  uint32_t perimeter_;
  std::span<const AffinityLink> links_;
  std::vector<std::vector<uint32_t>> members_of_;  // [link]: indices of the jobs with a kept edge
  std::vector<std::vector<uint32_t>> links_of_;    // [job]: links that join it to others
  Alignment alignment_;
};

void Forest::Grow() {
  DisjointSets trees(links_of_.size() + links_.size());
  for (const uint32_t link : ByContention(perimeter_, links_)) JoinLink(link, &trees);
}

void Forest::JoinLink(uint32_t link, DisjointSets* trees) {
  const std::vector<uint32_t>& jobs = links_[link].jobs;
  const auto node = static_cast<uint32_t>(links_of_.size() + link);
  std::vector<uint32_t>& members = members_of_[link];
  for (uint32_t i = 0; i < jobs.size(); ++i) {
    ++alignment_.num_edges;
    if (trees->Find(jobs[i]) == trees->Find(node)) {
      ++alignment_.num_dropped_edges;
      continue;
    }
    trees->Join(jobs[i], node);
    members.push_back(i);
  }
  if (members.size() < 2) return;
  for (const uint32_t i : members) links_of_[jobs[i]].push_back(link);
}

void Forest::ShiftNeighbours(uint32_t link, uint32_t job, std::vector<std::optional<uint32_t>>* shifts,
                             std::vector<uint32_t>* reached) const {
  const AffinityLink& here = links_[link];
  const std::vector<uint32_t> wanted = FindShifts(perimeter_, here.bursts);
  const auto own = std::lower_bound(here.jobs.begin(), here.jobs.end(), job) - here.jobs.begin();
  // Added to every shift that the link wants, on the whole circle.
  const uint64_t turn = uint64_t{*(*shifts)[job]} + perimeter_ - wanted[static_cast<size_t>(own)];
  for (const uint32_t i : members_of_[link]) {
    std::optional<uint32_t>& shift = (*shifts)[here.jobs[i]];
    if (shift.has_value()) continue;
    const uint64_t on_circle = (turn + wanted[i]) % perimeter_;
    // Modulo the period, which need not be a whole number of slots.
    const uint64_t period = on_circle * here.bursts[i].repeats / perimeter_;
    shift = static_cast<uint32_t>(on_circle - period * perimeter_ / here.bursts[i].repeats);
    reached->push_back(here.jobs[i]);
  }
}

Alignment Forest::Align() {
  std::vector<std::optional<uint32_t>> shifts(links_of_.size());
  std::vector<uint8_t> is_done(links_.size(), 0);
  for (uint32_t root = 0; root < links_of_.size(); ++root) {
    if (shifts[root].has_value()) continue;
    shifts[root] = 0;
    std::vector<uint32_t> reached(1, root);
    for (size_t next = 0; next < reached.size(); ++next) {
      const uint32_t job = reached[next];  // by value: the vector grows
      for (const uint32_t link : links_of_[job]) {
        if (is_done[link] != 0) continue;
        is_done[link] = 1;
        ShiftNeighbours(link, job, &shifts, &reached);
      }
    }
  }
  for (const std::optional<uint32_t>& shift : shifts) alignment_.shifts.push_back(*shift);
  return alignment_;
}

}  // namespace

Alignment AlignJobs(uint32_t perimeter, uint32_t num_jobs, std::span<const AffinityLink> links) {
  Forest forest(perimeter, num_jobs, links);
  forest.Grow();
  return forest.Align();
}

}  // namespace fairlead::traffic::cassini
