#include "diagnosis/c4d/hang_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diagnosis/c4d/thread_places.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::Candidate;
using model::RankId;

constexpr const char* kStill = "time since it last began or ended an operation";

// "; its first thread is blocked in nfs_wait < sys_read"; empty: not known.
std::string FirstThreadText(const RankState& rank, SimTime now) {
  const model::ThreadGroup* first = FirstThreadOf(rank, now);
  if (first == nullptr) return "";
  const std::string where = first->place.empty() ? "" : " in " + first->place;
  return fmt::format("; its first thread is {}{}", model::Name(first->state), where);
}

// Longest first; without a clock nothing is known of it, and all are alike.
double StillFor(const Candidate& candidate) {
  const auto said = std::ranges::find(candidate.evidence, kStill, &model::Evidence::what);
  return said == candidate.evidence.end() ? 0 : said->value;
}

void AddTimes(SimTime last_progress, SimTime last_heard, const WaitGraphQuery& query, Candidate* candidate) {
  if (!query.has_clock) return;
  const auto since = [&](SimTime at) { return std::max(0.0, (query.now - at).seconds().value()); };
  candidate->evidence.push_back({kStill, since(last_progress), 0, "s"});
  candidate->evidence.push_back({"time since its last report", since(last_heard), 0, "s"});
}

}  // namespace

Candidate RankCandidate(const JobPicture& picture, RankId id, std::string why, const WaitGraphQuery& query) {
  const RankState& rank = picture.ranks()[id];
  Candidate candidate{.culprit = model::RankCulprit(picture.layout(), id), .why = std::move(why), .evidence = {}};
  candidate.why += FirstThreadText(rank, query.now);
  if (rank.has_reported) AddTimes(rank.last_progress, rank.last_heard, query, &candidate);
  return candidate;
}

Candidate HostCandidate(const JobPicture& picture, const std::vector<RankId>& inside, std::string why,
                        const WaitGraphQuery& query) {
  const HostId host = picture.layout().ranks[inside.front().index()].host;
  Candidate candidate{.culprit = model::HostCulprit(host), .why = std::move(why), .evidence = {}};
  SimTime last_progress = picture.ranks()[inside.front()].last_progress;
  for (const RankId rank : inside) last_progress = std::max(last_progress, picture.ranks()[rank].last_progress);
  AddTimes(last_progress, picture.hosts()[picture.ranks()[inside.front()].host].last_heard, query, &candidate);
  return candidate;
}

void SetCandidates(std::vector<Candidate> candidates, Suspect* suspect) {
  suspect->evidence.push_back({"candidates", static_cast<double>(candidates.size()), 0, ""});
  std::ranges::sort(candidates, {},
                    [](const Candidate& candidate) { return std::pair(-StillFor(candidate), candidate.culprit); });
  if (candidates.size() > kHangCandidatesMax) candidates.resize(kHangCandidatesMax);
  suspect->candidates = std::move(candidates);
}

}  // namespace fairlead::diagnosis::c4d
