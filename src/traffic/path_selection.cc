#include "traffic/path_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "traffic/path_selector.h"
#include "traffic/path_upkeep.h"

namespace fairlead::traffic {
namespace {

// Links whose load, when it is a job's turn, may differ from that at the last selection.
class TouchedLinks {
 public:
  explicit TouchedLinks(size_t num_links) : is_touched_(num_links) {}

  void Touch(std::span<const LinkId> links) {
    for (const LinkId link : links) is_touched_[link] = 1;
    is_empty_ = is_empty_ && links.empty();
  }
  void Touch(const PackedPaths& paths) {
    for (size_t f = 0; f < paths.size(); ++f) Touch(paths[f]);
  }
  void TouchDifferences(const PackedPaths& before, std::span<const model::Path> now) {
    for (size_t f = 0; f < now.size(); ++f) {
      if (std::ranges::equal(before[f], now[f])) continue;
      Touch(before[f]);
      Touch(now[f]);
    }
  }
  bool Meets(const JobCandidates& candidates) const {
    return !is_empty_ && candidates.AnyOf([&](std::span<const LinkId> links) {
      return std::any_of(links.begin(), links.end(), [&](LinkId link) { return is_touched_[link] != 0; });
    });
  }

 private:
  LazyIdVector<LinkId, uint8_t> is_touched_;
  bool is_empty_ = true;
};

// As without memory, but that jobs with an unchanged turn keep their paths.
PathSelection SelectAgain(std::span<const PathRequest> requests, const LinkTable& links, const CandidateSource& source,
                          const PathSelectionOptions& options, SelectionMemory* memory) {
  const std::vector<SelectionMemory::Departure> departures = memory->Begin(requests, options.hysteresis > 0);
  auto departure = departures.begin();
  TouchedLinks touched(links.size());
  PathSelector selector(links, options);
  PathSelection selection;
  selection.paths.resize(requests.size());
  for (const uint32_t r : SortByPrecedence(requests)) {
    const PathRequest& request = requests[r];
    SelectionMemory::Job& job = memory->job(request.id);
    for (; departure != departures.end() &&
           ChoosesBefore(departure->precedence, departure->job, request.precedence, request.id);
         ++departure) {
      touched.Touch(departure->paths);
    }
    if (job.is_placed && !touched.Meets(job.candidates)) {
      selector.Add(request, job.paths);
      selection.paths[r] = job.paths.Unpack();
      continue;
    }
    if (job.candidates.num_flows() != request.flows.size()) job.candidates.Collect(request.flows, source);
    selection.paths[r] = selector.Place(request, job.candidates);
    if (!job.is_placed) job.paths.Assign(std::vector<model::Path>(request.flows.size()));
    touched.TouchDifferences(job.paths, selection.paths[r]);
    job.paths.Assign(selection.paths[r]);
    job.is_placed = true;
    memory->CountChosen();
  }
  selection.links = selector.TakeLinks();
  return selection;
}

PathSelection SelectByUpkeep(std::span<const PathRequest> requests, const LinkTable& links,
                             const CandidateSource& source, const PathSelectionOptions& options,
                             SelectionMemory* memory) {
  PathSelection selection;
  auto changed = KeepPaths(requests, links, source, options, memory, &selection.links);
  for (size_t r = 0; r < requests.size(); ++r) {
    const std::span<const model::Path> before = requests[r].paths_in_force;
    selection.paths.push_back(std::move(changed[r]).value_or(std::vector(before.begin(), before.end())));
  }
  return selection;
}

}  // namespace

std::vector<uint32_t> SortByPrecedence(std::span<const PathRequest> requests) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return ChoosesBefore(requests[a].precedence, requests[a].id, requests[b].precedence, requests[b].id);
  });
  return order;
}

Status PathSelectionOptions::Validate() const {
  if (!(hysteresis >= 0 && hysteresis < 1)) {
    return InvalidArgument(
        fmt::format("path selection: hysteresis: expected a fraction in [0, 1), found {}", hysteresis));
  }
  return OkStatus();
}

PathSelection SelectPaths(std::span<const PathRequest> requests, const LinkTable& links, const CandidateSource& source,
                          const PathSelectionOptions& options, SelectionMemory* memory) {
  if (options.max_moved_jobs.has_value()) return SelectByUpkeep(requests, links, source, options, memory);
  if (memory != nullptr) return SelectAgain(requests, links, source, options, memory);
  PathSelector selector(links, options);
  JobCandidates candidates;
  PathSelection selection;
  selection.paths.resize(requests.size());
  for (const uint32_t r : SortByPrecedence(requests)) {
    candidates.Collect(requests[r].flows, source);
    selection.paths[r] = selector.Place(requests[r], candidates);
  }
  selection.links = selector.TakeLinks();
  return selection;
}

}  // namespace fairlead::traffic
