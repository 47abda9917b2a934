#include "diagnosis/c4d/thread_places.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using model::ThreadState;

constexpr SimDuration kHoldsFor = SimDuration(90'000'000'000);

bool IsAccused(const model::Finding& finding, RankId rank, HostId host) {
  return std::ranges::any_of(finding.culprits, [&](const model::Culprit& culprit) {
    if (culprit.rank.valid() || culprit.peer.valid()) return culprit.rank == rank || culprit.peer == rank;
    return culprit.host.valid() && culprit.host == host;
  });
}

}  // namespace

const model::ThreadGroup* FirstThreadOf(const RankState& rank, SimTime now) {
  const auto first = std::ranges::find(rank.threads, true, &model::ThreadGroup::is_first);
  return first == rank.threads.end() || now - rank.threads_heard > kHoldsFor ? nullptr : &*first;
}

std::vector<model::RankThreads> FindThreadPlaces(const JobPicture& picture, const model::Finding& finding,
                                                 SimTime now) {
  std::map<std::pair<ThreadState, std::string>, model::RankThreads> places;
  for (size_t r = 0; r < picture.ranks().size(); ++r) {
    const RankId id(r);
    const RankState& rank = picture.ranks()[id];
    const model::ThreadGroup* first = FirstThreadOf(rank, now);
    if (first == nullptr) continue;
    const bool is_accused = IsAccused(finding, id, picture.layout().ranks[r].host);
    model::RankThreads& alike = places[{first->state, first->place}];
    // What is shown of them is the first accused one's.
    if (alike.ranks.empty() || (is_accused && !alike.is_accused)) alike.groups = rank.threads;
    alike.is_accused |= is_accused;
    alike.ranks.push_back(id);
  }
  std::vector<model::RankThreads> list;
  for (auto& [place, alike] : places) list.push_back(std::move(alike));
  std::ranges::sort(list, {},
                    [](const model::RankThreads& one) { return std::pair(!one.is_accused, one.ranks.front()); });
  if (list.size() > kThreadPlacesMax) list.resize(kThreadPlacesMax);
  return list;
}

}  // namespace fairlead::diagnosis::c4d
