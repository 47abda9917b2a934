#include "scheduling/equal_placements.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/random.h"
#include "scheduling/host_groups.h"

namespace fairlead::scheduling {
namespace {

constexpr uint32_t kDrawsPerPlacement = 8;

// What equal placements have in common.
struct Quality {
  std::vector<uint32_t> free_gpus;  // of its hosts, ascending
  size_t num_groups = 0;
  size_t num_pods = 0;

  friend bool operator==(const Quality&, const Quality&) = default;
};

Quality QualityOf(const GpuPool& pool, const std::vector<HostId>& hosts) {
  Quality quality;
  std::set<uint32_t> groups, pods;
  for (const HostId host : hosts) {
    quality.free_gpus.push_back(pool.num_free(host));
    groups.insert(pool.fabric().leaf_group(host));
    pods.insert(pool.fabric().pod(host));
  }
  std::sort(quality.free_gpus.begin(), quality.free_gpus.end());
  quality.num_groups = groups.size();
  quality.num_pods = pods.size();
  return quality;
}

// Groups of hosts that have as many free GPUs as one of the chosen hosts.
std::vector<HostGroup> FindEqualGroups(const GpuPool& pool, const model::Job& job, const Quality& quality) {
  std::vector<HostGroup> groups = FindUsableGroups(pool, RanksOnHost(job, 0));
  for (HostGroup& group : groups) {
    std::erase_if(group.hosts, [&](HostId host) {
      return !std::binary_search(quality.free_gpus.begin(), quality.free_gpus.end(), pool.num_free(host));
    });
  }
  std::erase_if(groups, [](const HostGroup& group) { return group.hosts.empty(); });
  return groups;
}

// Hosts of the largest groups, one of them left out.
class LargestGroups {
 public:
  explicit LargestGroups(const std::vector<HostGroup>& groups) {
    for (const HostGroup& group : groups) sizes_.push_back(group.hosts.size());
    std::sort(sizes_.begin(), sizes_.end(), std::greater<>());
    for (const size_t size : sizes_) sums_.push_back(sums_.back() + size);
  }

  // Of the `count` largest others of a group that has `size` hosts.
  size_t HostsWithout(size_t size, size_t count) const {
    const bool is_among = count > 0 && (count > sizes_.size() || size >= sizes_[count - 1]);
    return is_among ? sums_[std::min(count + 1, sizes_.size())] - size : sums_[count];
  }

 private:
  std::vector<size_t> sizes_;       // descending
  std::vector<size_t> sums_ = {0};  // of the first so many
};

// A group that may be next, and from how many to how many of its hosts.
struct NextGroup {
  size_t group = 0;
  size_t least = 0;
  size_t most = 0;
};

class PlacementDraw {
 public:
  // Args: groups: of the pods that are drawn.
  PlacementDraw(std::vector<HostGroup> groups, Random* random) : groups_(std::move(groups)), random_(random) {}

  // Nothing: they have no room for so many hosts of so many groups.
  std::optional<std::vector<HostId>> Draw(size_t num_hosts, size_t num_groups);

 private:
  std::vector<NextGroup> FindNext(size_t num_hosts, size_t num_groups) const;
  // Moves `count` hosts of a group, which is none of the others' any more, to those that are drawn.
  void Take(size_t group, size_t count);

  std::vector<HostGroup> groups_;
  Random* random_;
  std::vector<HostGroup> drawn_;
};

std::vector<NextGroup> PlacementDraw::FindNext(size_t num_hosts, size_t num_groups) const {
  std::vector<NextGroup> next;
  const LargestGroups largest(groups_);
  for (size_t g = 0; g < groups_.size(); ++g) {
    const size_t elsewhere = largest.HostsWithout(groups_[g].hosts.size(), num_groups - 1);
    const size_t least = std::max<size_t>(1, num_hosts - std::min(num_hosts, elsewhere));
    const size_t most = std::min(groups_[g].hosts.size(), num_hosts - (num_groups - 1));
    if (least <= most) next.push_back({g, least, most});
  }
  return next;
}

void PlacementDraw::Take(size_t group, size_t count) {
  HostGroup taken = std::move(groups_[group]);
  groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(group));
  random_->Shuffle(std::span<HostId>(taken.hosts));
  taken.hosts.resize(count);
  std::sort(taken.hosts.begin(), taken.hosts.end());
  drawn_.push_back(std::move(taken));
}

std::optional<std::vector<HostId>> PlacementDraw::Draw(size_t num_hosts, size_t num_groups) {
  for (; num_groups > 0; --num_groups) {
    const std::vector<NextGroup> next = FindNext(num_hosts, num_groups);
    if (next.empty()) return std::nullopt;
    const NextGroup& here = next[random_->Below(next.size())];
    const size_t least = num_groups == 1 ? here.most : here.least;
    const size_t count = least + random_->Below(here.most - least + 1);
    Take(here.group, count);
    num_hosts -= count;
  }
  std::stable_sort(drawn_.begin(), drawn_.end(), [](const HostGroup& a, const HostGroup& b) { return a.pod < b.pod; });
  std::vector<HostId> hosts;
  for (const HostGroup& group : drawn_) hosts.insert(hosts.end(), group.hosts.begin(), group.hosts.end());
  return hosts;
}

// The groups of `count` pods.
std::vector<HostGroup> DrawPods(std::vector<HostGroup> groups, size_t count, Random* random) {
  std::vector<uint32_t> pods;
  for (const HostGroup& group : groups) pods.push_back(group.pod);
  std::sort(pods.begin(), pods.end());
  pods.erase(std::unique(pods.begin(), pods.end()), pods.end());
  random->Shuffle(std::span<uint32_t>(pods));
  pods.resize(std::min(count, pods.size()));
  std::erase_if(groups,
                [&](const HostGroup& group) { return std::find(pods.begin(), pods.end(), group.pod) == pods.end(); });
  return groups;
}

}  // namespace

std::vector<model::Placement> DrawEqualPlacements(const GpuPool& pool, const model::Job& job,
                                                  const model::Placement& chosen, uint32_t most, uint64_t seed) {
  std::vector<model::Placement> placements = {chosen};
  if (most == 1) return placements;
  const std::vector<HostId> chosen_hosts = HostsOf(pool.fabric(), chosen);
  const Quality quality = QualityOf(pool, chosen_hosts);
  const std::vector<HostGroup> groups = FindEqualGroups(pool, job, quality);
  std::set<std::vector<HostId>> known = {chosen_hosts};
  Random random(CombineHash(seed, job.id.value()));
  for (uint32_t draw = 0; draw < kDrawsPerPlacement * most && placements.size() < most; ++draw) {
    const auto hosts = PlacementDraw(DrawPods(groups, quality.num_pods, &random), &random)
                           .Draw(chosen_hosts.size(), quality.num_groups);
    if (!hosts) continue;
    std::vector<HostId> ascending = *hosts;
    std::sort(ascending.begin(), ascending.end());
    if (QualityOf(pool, ascending) != quality || !known.insert(std::move(ascending)).second) continue;
    placements.push_back(PlaceOnHosts(pool, job, *hosts));
  }
  return placements;
}

}  // namespace fairlead::scheduling
