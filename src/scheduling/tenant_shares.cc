#include "scheduling/tenant_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "scheduling/job_sizes.h"

namespace fairlead::scheduling {
namespace {

constexpr double kNegligible = 1e-9;

// GPUs and cores that need not be whole.
struct Amount {
  double gpus = 0;
  double cores = 0;
};

Amount AmountOf(const Resources& r) { return {static_cast<double>(r.num_gpus), static_cast<double>(r.num_cores)}; }

// Progressive filling.
class Filling {
 public:
  Filling(const Resources& total, const std::vector<TenantDemand>& tenants)
      : total_(AmountOf(total)), left_(total_), tenants_(tenants), parts_(tenants.size()), is_done_(tenants.size()) {
    GrantGuaranteed();
    for (size_t i = 0; i < tenants.size(); ++i) is_done_[i] = tenants[i].demand.empty();
  }

  // [tenants] part of its demand.
  std::vector<double> Run() {
    double level = 0;
    while (true) {
      Freeze(level);
      const double next = NextLevel(level);
      if (!std::isfinite(next)) return parts_;
      Raise(level, next);
      level = next;
    }
  }

 private:
  double DominantOf(size_t i) const { return std::max(GpuShare(i), CoreShare(i)); }
  double GpuShare(size_t i) const { return total_.gpus > 0 ? AmountOf(tenants_[i].demand).gpus / total_.gpus : 0; }
  double CoreShare(size_t i) const { return total_.cores > 0 ? AmountOf(tenants_[i].demand).cores / total_.cores : 0; }
  double LevelOf(size_t i) const { return parts_[i] * DominantOf(i) / tenants_[i].weight; }

  void Grant(size_t i, double part) {
    left_.gpus -= part * AmountOf(tenants_[i].demand).gpus;
    left_.cores -= part * AmountOf(tenants_[i].demand).cores;
    parts_[i] += part;
  }

  void GrantGuaranteed() {
    double guaranteed = 0;
    const auto wish = [&](size_t i) {
      return static_cast<double>(std::min(tenants_[i].guaranteed_gpus, tenants_[i].demand.num_gpus));
    };
    for (size_t i = 0; i < tenants_.size(); ++i) guaranteed += wish(i);
    const double scale = guaranteed > total_.gpus ? total_.gpus / guaranteed : 1;
    for (size_t i = 0; i < tenants_.size(); ++i) {
      if (wish(i) > 0) Grant(i, scale * wish(i) / AmountOf(tenants_[i].demand).gpus);
    }
  }

  // A tenant that has all, or needs what is used up, rises no more.
  void Freeze(double level) {
    for (size_t i = 0; i < tenants_.size(); ++i) {
      if (is_done_[i] || LevelOf(i) > level + kNegligible) continue;
      const bool lacks_gpus = tenants_[i].demand.num_gpus > 0 && left_.gpus <= kNegligible * (1 + total_.gpus);
      const bool lacks_cores = tenants_[i].demand.num_cores > 0 && left_.cores <= kNegligible * (1 + total_.cores);
      is_done_[i] = parts_[i] >= 1 - kNegligible || lacks_gpus || lacks_cores;
    }
  }

  bool Rises(size_t i, double level) const { return !is_done_[i] && LevelOf(i) <= level + kNegligible; }

  // Where one has all, joins, or a resource is used up; infinite: nobody rises any more.
  double NextLevel(double level) const {
    double next = INFINITY;
    Amount speed;  // of what is used, per level
    for (size_t i = 0; i < tenants_.size(); ++i) {
      if (is_done_[i]) continue;
      if (!Rises(i, level)) {
        next = std::min(next, LevelOf(i));
        continue;
      }
      const double part = tenants_[i].weight / DominantOf(i);
      speed.gpus += part * AmountOf(tenants_[i].demand).gpus;
      speed.cores += part * AmountOf(tenants_[i].demand).cores;
      next = std::min(next, level + (1 - parts_[i]) / part);
    }
    if (speed.gpus > 0) next = std::min(next, level + std::max(0.0, left_.gpus) / speed.gpus);
    if (speed.cores > 0) next = std::min(next, level + std::max(0.0, left_.cores) / speed.cores);
    return next;
  }

  void Raise(double level, double next) {
    for (size_t i = 0; i < tenants_.size(); ++i) {
      if (Rises(i, level)) Grant(i, (next - level) * tenants_[i].weight / DominantOf(i));
    }
  }

  const Amount total_;
  Amount left_;
  const std::vector<TenantDemand>& tenants_;
  std::vector<double> parts_;
  std::vector<bool> is_done_;
};

// Whole numbers that sum to that of `shares`, rounded down: those with the largest remainders get what is left.
std::vector<uint64_t> RoundShares(const std::vector<double>& shares) {
  std::vector<uint64_t> whole;
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  double sum = 0;
  uint64_t given = 0;
  for (const double share : shares) {
    whole.push_back(static_cast<uint64_t>(share + kNegligible));
    sum += share;
    given += whole.back();
  }
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return shares[i] - static_cast<double>(whole[i]); });
  const auto all = static_cast<uint64_t>(sum + kNegligible * (1 + sum));
  for (size_t k = 0; k < order.size() && given < all; ++k, ++given) ++whole[order[k]];
  return whole;
}

// The parts of nodes that one tenant may use.
using Part = IdVector<HostId, NodeCapacity>;

class TenantPolicy final : public AllocationPolicy {
 public:
  TenantPolicy(std::unique_ptr<AllocationPolicy> policy, std::vector<Tenant> tenants) : policy_(std::move(policy)) {
    for (Tenant& tenant : tenants) {
      std::string name = tenant.name;
      tenants_.emplace(std::move(name), std::move(tenant));
    }
  }
  std::string_view name() const override { return policy_->name(); }

 private:
  // A tenant in one decision.
  struct Group {
    std::vector<uint32_t> jobs = {};  // [snapshot.jobs]
    TenantDemand wish = {};
    Resources share = {};
    Part part = {};
    ClusterMemory memory = {};
    AllocationPlan plan = {};  // [jobs]
  };

  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    std::vector<Group> groups = GroupJobs(snapshot);
    if (groups.size() == 1) return policy_->Decide(snapshot).value();
    ShareOut(snapshot, &groups);
    Part free = DivideNodes(snapshot, &groups);
    for (Group& group : groups) {
      group.plan = Ask(snapshot, group, group.part);
      AddUnused(group, &free);
    }
    Lend(snapshot, &groups, &free);
    return Join(snapshot, std::move(groups));
  }

  // By name, so that the order in the snapshot does not matter.
  std::vector<Group> GroupJobs(const AllocationSnapshot& snapshot) const {
    std::map<std::string_view, Group> by_name;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) by_name[snapshot.jobs[j].tenant].jobs.push_back(j);
    const Resources total = TotalCapacity(snapshot);
    std::vector<Group> groups;
    for (auto& [name, group] : by_name) {
      const auto known = tenants_.find(name);
      if (known != tenants_.end()) {
        group.wish.weight = known->second.weight;
        group.wish.guaranteed_gpus = known->second.guaranteed_gpus;
      }
      for (const uint32_t j : group.jobs) {
        group.wish.demand = group.wish.demand + snapshot.jobs[j].sizes.back().resources();
      }
      group.wish.demand.num_gpus = std::min(group.wish.demand.num_gpus, total.num_gpus);
      group.wish.demand.num_cores = std::min(group.wish.demand.num_cores, total.num_cores);
      const auto memory = snapshot.memory.of_tenants.find(name);
      if (memory != snapshot.memory.of_tenants.end()) group.memory = memory->second;
      groups.push_back(std::move(group));
    }
    if (groups.empty()) groups.emplace_back();
    return groups;
  }

  static void ShareOut(const AllocationSnapshot& snapshot, std::vector<Group>* groups) {
    std::vector<TenantDemand> wishes;
    for (const Group& group : *groups) wishes.push_back(group.wish);
    const std::vector<Resources> shares = ShareByWeight(TotalCapacity(snapshot), wishes);
    for (size_t i = 0; i < shares.size(); ++i) (*groups)[i].share = shares[i];
  }

  // Moves up to `most` from `free` to `part`. Returns what it moved.
  static Resources Move(HostId node, const Resources& most, Part* free, Part* part) {
    const auto gpus = static_cast<uint32_t>(std::min<uint64_t>(most.num_gpus, (*free)[node].num_gpus));
    const auto cores = static_cast<uint32_t>(std::min<uint64_t>(most.num_cores, (*free)[node].num_cores));
    (*free)[node].num_gpus -= gpus;
    (*free)[node].num_cores -= cores;
    (*part)[node].num_gpus += gpus;
    (*part)[node].num_cores += cores;
    return {gpus, cores};
  }

  // Returns what is in no share.
  static Part DivideNodes(const AllocationSnapshot& snapshot, std::vector<Group>* groups) {
    Part free = snapshot.nodes;
    Part nothing = snapshot.nodes;
    for (NodeCapacity& node : nothing) node.num_gpus = node.num_cores = 0;
    std::vector<Resources> missing;
    for (Group& group : *groups) {
      group.part = nothing;
      missing.push_back(group.share);
      KeepHeld(snapshot, group, &missing.back(), &free, &group.part);
    }
    for (size_t i = 0; i < groups->size(); ++i) TakeFree(missing[i], &free, &(*groups)[i].part);
    return free;
  }

  static void KeepHeld(const AllocationSnapshot& snapshot, const Group& group, Resources* missing, Part* free,
                       Part* part) {
    std::vector<uint32_t> running;
    for (const uint32_t j : group.jobs) {
      if (snapshot.jobs[j].is_running()) running.push_back(j);
    }
    std::ranges::sort(running, {},
                      [&](uint32_t j) { return std::pair(snapshot.jobs[j].running_since, snapshot.jobs[j].id); });
    for (const uint32_t j : running) {
      for (const NodeShare& share : snapshot.jobs[j].current) {
        const Resources held = {std::min<uint64_t>(share.num_gpus, missing->num_gpus),
                                std::min<uint64_t>(share.num_cores, missing->num_cores)};
        *missing = *missing - Move(share.node, held, free, part);
      }
    }
  }

  static void TakeFree(Resources missing, Part* free, Part* part) {
    while (!missing.empty()) {
      HostId best;
      for (size_t n = 0; n < free->size(); ++n) {
        const NodeCapacity& node = (*free)[HostId(n)];
        const bool helps = (missing.num_gpus > 0 && node.num_gpus > 0) || (missing.num_cores > 0 && node.num_cores > 0);
        if (helps && (!best.valid() || IsBetter(node, (*free)[best], missing))) best = HostId(n);
      }
      if (!best.valid()) return;
      // Cores go with GPUs, as far as there are enough.
      missing = missing - Move(best, missing, free, part);
    }
  }

  // Whole nodes while they are needed, then the one that fits best.
  static bool IsBetter(const NodeCapacity& a, const NodeCapacity& b, const Resources& missing) {
    const bool a_fits = a.num_gpus >= missing.num_gpus;
    const bool b_fits = b.num_gpus >= missing.num_gpus;
    if (a_fits != b_fits) return a_fits;
    if (a.num_gpus != b.num_gpus) return a_fits ? a.num_gpus < b.num_gpus : a.num_gpus > b.num_gpus;
    return a.num_cores > b.num_cores;
  }

  AllocationPlan Ask(const AllocationSnapshot& snapshot, const Group& group, const Part& part) const {
    AllocationSnapshot own = snapshot;
    own.nodes = part;
    own.memory = group.memory;
    own.jobs.clear();
    for (const uint32_t j : group.jobs) own.jobs.push_back(snapshot.jobs[j]);
    return policy_->Decide(own).value();
  }

  // What the plan leaves of the tenant's part.
  static void AddUnused(const Group& group, Part* free) {
    for (size_t n = 0; n < free->size(); ++n) {
      (*free)[HostId(n)].num_gpus += group.part[HostId(n)].num_gpus;
      (*free)[HostId(n)].num_cores += group.part[HostId(n)].num_cores;
    }
    ForEachShare(group.plan, [&](const NodeShare& share) {
      (*free)[share.node].num_gpus -= share.num_gpus;
      (*free)[share.node].num_cores -= share.num_cores;
    });
  }

  template <class Function>
  static void ForEachShare(const AllocationPlan& plan, Function function) {
    for (const JobGrant& grant : plan.jobs) {
      for (const NodeShare& share : grant.nodes) function(share);
    }
  }

  static Resources UsedBy(const Group& group) {
    Resources used;
    ForEachShare(group.plan, [&](const NodeShare& share) { used = used + Resources{share.num_gpus, share.num_cores}; });
    return used;
  }

  void Lend(const AllocationSnapshot& snapshot, std::vector<Group>* groups, Part* free) const {
    const Resources total = TotalCapacity(snapshot);
    std::vector<size_t> order(groups->size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, {}, [&](size_t i) { return DominantShare(UsedBy((*groups)[i]), total) / (*groups)[i].wish.weight; });
    for (const size_t i : order) {
      Group& group = (*groups)[i];
      const Resources used = UsedBy(group);
      if (used.num_gpus >= group.wish.demand.num_gpus && used.num_cores >= group.wish.demand.num_cores) continue;
      Part larger = *free;
      ForEachShare(group.plan, [&](const NodeShare& share) {
        larger[share.node].num_gpus += share.num_gpus;
        larger[share.node].num_cores += share.num_cores;
      });
      if (larger == group.part) continue;
      group.plan = Ask(snapshot, group, larger);
      *free = larger;
      ForEachShare(group.plan, [&](const NodeShare& share) {
        (*free)[share.node].num_gpus -= share.num_gpus;
        (*free)[share.node].num_cores -= share.num_cores;
      });
    }
  }

  static AllocationPlan Join(const AllocationSnapshot& snapshot, std::vector<Group> groups) {
    AllocationPlan plan;
    plan.jobs.resize(snapshot.jobs.size());
    for (Group& group : groups) {
      const std::string_view name = snapshot.jobs[group.jobs.front()].tenant;
      plan.memory.of_tenants.emplace(name, std::move(group.plan.memory));
      plan.next_wake_up = std::min(plan.next_wake_up, group.plan.next_wake_up);
      for (size_t i = 0; i < group.jobs.size(); ++i) plan.jobs[group.jobs[i]] = std::move(group.plan.jobs[i]);
    }
    return plan;
  }

  const std::unique_ptr<AllocationPolicy> policy_;
  std::map<std::string, Tenant, std::less<>> tenants_;
};

}  // namespace

std::vector<Resources> ShareByWeight(const Resources& total, const std::vector<TenantDemand>& tenants) {
  const std::vector<double> parts = Filling(total, tenants).Run();
  std::vector<double> gpus, cores;
  for (size_t i = 0; i < tenants.size(); ++i) {
    gpus.push_back(parts[i] * AmountOf(tenants[i].demand).gpus);
    cores.push_back(parts[i] * AmountOf(tenants[i].demand).cores);
  }
  const std::vector<uint64_t> whole_gpus = RoundShares(gpus);
  const std::vector<uint64_t> whole_cores = RoundShares(cores);
  std::vector<Resources> shares;
  for (size_t i = 0; i < tenants.size(); ++i) shares.push_back({whole_gpus[i], whole_cores[i]});
  return shares;
}

Result<std::unique_ptr<AllocationPolicy>> ShareAmongTenants(std::unique_ptr<AllocationPolicy> policy,
                                                            std::vector<Tenant> tenants) {
  if (policy == nullptr) return InvalidArgument("tenants: expected a policy inside their shares");
  std::set<std::string_view> names;
  for (const Tenant& tenant : tenants) {
    if (!(tenant.weight > 0 && std::isfinite(tenant.weight))) {
      return InvalidArgument(
          fmt::format("tenant {}: weight is {}; expected a number above 0", tenant.name, tenant.weight));
    }
    if (!names.insert(tenant.name).second) {
      return InvalidArgument(fmt::format("tenant {}: appears twice; expected each once", tenant.name));
    }
  }
  return std::unique_ptr<AllocationPolicy>(std::make_unique<TenantPolicy>(std::move(policy), std::move(tenants)));
}

}  // namespace fairlead::scheduling
