#include "traffic/cassini/contended_links.h"

#include <algorithm>
#include <utility>

namespace fairlead::traffic::cassini {
namespace {

// What rounding leaves of a full link.
constexpr double kFullLinkRounding = 1e-6;

}  // namespace

void AppendLinkUses(uint32_t job, const JobTraffic& traffic, const LinkTable& links, std::vector<LinkUse>* uses) {
  for (const LinkBytes& use : traffic.links) {
    uses->push_back({use.link, {job, use.bytes / links.capacity(use.link) / traffic.communication_time}});
  }
}

bool IsContended(const std::vector<LinkDemand>& users) {
  double demand = 0;
  for (const LinkDemand& user : users) demand += user.demand;
  return demand > 1 + kFullLinkRounding;
}

std::vector<ContendedLink> FindContendedLinks(std::vector<LinkUse> uses) {
  std::sort(uses.begin(), uses.end());
  std::vector<ContendedLink> contended;
  for (auto first = uses.begin(); first != uses.end();) {
    ContendedLink here{first->link, {}};
    for (; first != uses.end() && first->link == here.link; ++first) here.users.push_back(first->by);
    if (IsContended(here.users)) contended.push_back(std::move(here));
  }
  return contended;
}

}  // namespace fairlead::traffic::cassini
