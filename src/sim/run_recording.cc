#include "sim/run_recording.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace fairlead::sim {

namespace {

// Loads that differ by less, relative to the greater one, are equal but for rounding.
constexpr double kRounding = 1e-9;

bool IsSame(double a, double b) { return std::abs(a - b) <= kRounding * std::max(a, b); }

// Anew each time: differences would leave a rest of rounding where nothing is sent any more.
double SumOf(const std::map<JobId, double>& loads) {
  double sum = 0;
  for (const auto& [job, bytes_per_s] : loads) sum += bytes_per_s;
  return sum;
}

bool IsSame(const HeldUpSpan& a, const HeldUpSpan& b) {
  return a.cause == b.cause && a.culprit == b.culprit && a.link == b.link;
}

}  // namespace

bool RunRecorder::Clip(SimTime* from, SimTime* to) const {
  *from = std::max(*from, window().from);
  *to = std::min(*to, window().to);
  return *from < *to;
}

bool RunRecorder::HasRoom() {
  const size_t num_events = recording_.spans.size() + recording_.held_up.size() + loads_.size();
  if (num_events < window().max_events) return true;
  ++recording_.num_dropped;
  return false;
}

void RunRecorder::AddActivity(ActivitySpan span) {
  if (!Clip(&span.from, &span.to)) return;
  if (span.activity == Activity::kCompute) {
    const auto last = last_compute_.find(span.job);
    if (last != last_compute_.end()) {
      ActivitySpan& before = recording_.spans[last->second];
      if (before.to == span.from && before.iteration == span.iteration) {
        before.to = span.to;
        return;
      }
    }
  }
  if (!HasRoom()) return;
  if (span.activity == Activity::kCompute) last_compute_[span.job] = recording_.spans.size();
  recording_.spans.push_back(span);
}

void RunRecorder::AddHeldUp(HeldUpSpan span) {
  if (!Clip(&span.from, &span.to)) return;
  const auto last = last_held_up_.find(span.job);
  if (last != last_held_up_.end()) {
    HeldUpSpan& before = recording_.held_up[last->second];
    if (before.to == span.from && IsSame(before, span)) {
      const double earlier = (before.to - before.from).seconds().value();
      const double later = (span.to - span.from).seconds().value();
      before.missing = (before.missing * earlier + span.missing * later) / (earlier + later);
      before.to = span.to;
      return;
    }
  }
  if (!HasRoom()) return;
  last_held_up_[span.job] = recording_.held_up.size();
  recording_.held_up.push_back(span);
}

void RunRecorder::AddLoad(JobId job, const LinkLoad& load) {
  if (!Covers(load.at)) return;
  const auto last = last_load_.find({job, load.link});
  if (last != last_load_.end()) {
    LinkLoad& before = loads_[last->second].load;
    if (IsSame(before.bytes_per_s, load.bytes_per_s)) return;
    if (before.at == load.at) {
      before.bytes_per_s = load.bytes_per_s;
      return;
    }
  } else if (load.bytes_per_s == 0) {
    return;
  }
  if (!HasRoom()) return;
  last_load_[{job, load.link}] = loads_.size();
  loads_.push_back({job, load});
}

// Jobs of other domains were simulated earlier or later.
void RunRecorder::AddUpLoads() {
  std::set<LinkId> shown;
  for (const HeldUpSpan& span : recording_.held_up) shown.insert(span.link);
  std::ranges::stable_sort(loads_, {},
                           [](const LoadOfJob& entry) { return std::pair(entry.load.link, entry.load.at); });
  for (size_t first = 0, end = 0; first < loads_.size(); first = end) {
    const LinkId link = loads_[first].load.link;
    std::map<JobId, double> of_jobs;
    std::vector<LinkLoad> total;
    for (end = first; end < loads_.size() && loads_[end].load.link == link; ++end) {
      const auto& [job, load] = loads_[end];
      of_jobs[job] = load.bytes_per_s;
      // Jobs often change together: one sum for all of an instant.
      const bool is_last =
          end + 1 == loads_.size() || loads_[end + 1].load.link != link || loads_[end + 1].load.at != load.at;
      if (is_last) total.push_back({.link = link, .at = load.at, .bytes_per_s = SumOf(of_jobs)});
    }
    if (of_jobs.size() == 1 && !shown.contains(link)) continue;
    std::ranges::unique_copy(total, std::back_inserter(recording_.loads),
                             [](const LinkLoad& a, const LinkLoad& b) { return IsSame(a.bytes_per_s, b.bytes_per_s); });
  }
}

void RunRecorder::DescribeLinks() {
  const auto describe = [&](LinkId link) {
    if (!link.valid() || recording_.links.contains(link)) return;
    recording_.links[link] = {.name = fabric_->LinkName(link), .bytes_per_s = fabric_->capacity(link).value()};
  };
  for (const HeldUpSpan& span : recording_.held_up) describe(span.link);
  for (const LinkLoad& load : recording_.loads) describe(load.link);
}

RunRecording RunRecorder::Take() {
  AddUpLoads();
  DescribeLinks();
  return std::move(recording_);
}

}  // namespace fairlead::sim
