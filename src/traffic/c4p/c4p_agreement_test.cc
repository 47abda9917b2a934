// The policy that plans all jobs at once, for simulations, and the service that answers one request at a time, for live
// clusters, are one C4P: the same demands in the same order have the same paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "topology/fabric.h"
#include "traffic/c4p/c4p_master.h"
#include "traffic/job_survey.h"
#include "traffic/link_traffic.h"
#include "traffic/policy_registry.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic::c4p {
namespace {

constexpr uint32_t kNumJobs = 12;

// Jobs that come, run and go, planned by both.
class Both {
 public:
  explicit Both(uint64_t seed)
      : random_(seed),
        num_hosts_(4 * static_cast<uint32_t>(2 + random_.Below(3))),
        cluster_(MakeSmallClos(num_hosts_ / 4, 4, static_cast<uint32_t>(2 + random_.Below(5)))),
        policy_(CreatePolicy("c4p", {}).value()),
        master_(cluster_.fabric(), C4pOptions()) {
    for (uint32_t j = 0; j < kNumJobs; ++j) AddRing(j);
  }

  const topology::Fabric& fabric() const { return cluster_.fabric(); }

  void Start(uint32_t job) {
    alive_.insert(job);
    Plan({});
    Request(job);
    Settle();
  }
  void End(uint32_t job) {
    alive_.erase(job);
    in_force_[job].clear();
    std::vector<PathEvent> events;
    for (uint32_t h = 0; h < num_hosts_; ++h) {
      events.emplace_back(ConnectionsReleased{.host = HostId(h), .job = JobId(job), .connections = {}});
    }
    master_.Handle(now_, events);
    Plan({});
    Settle();
  }
  void Report(LinkId link, double health) {
    cluster_.SetHealth(link, health);
    const std::vector<PathEvent> events = {LinkReported{.link = link, .health = health, .source = "switch"}};
    master_.Handle(now_, events);
    const LinkId changed[] = {link};
    Plan(changed);
    Settle();
  }

  // Of the queue pairs of a running job, by flow: the links from NIC to NIC.
  std::vector<std::vector<LinkId>> PathsOfPolicy(uint32_t job) const {
    std::vector<std::vector<LinkId>> paths;
    for (const model::Path& path : in_force_.at(job)) {
      paths.emplace_back();
      std::ranges::copy_if(path, std::back_inserter(paths.back()),
                           [this](LinkId link) { return topology::IsNetwork(fabric().tier(link)); });
    }
    return paths;
  }
  std::vector<std::vector<LinkId>> PathsOfService(uint32_t job) const {
    std::vector<std::vector<LinkId>> paths(cluster_.iteration(job).flows.size());
    master_.VisitQueuePairs([&](const HeldQueuePair& held) {
      if (held.lease.job != JobId(job)) return;
      paths[held.request->connection + held.queue_pair].assign(held.links.begin(), held.links.end());
    });
    return paths;
  }

  // Most queue pairs on a link between switches.
  uint32_t WorstLoad(std::vector<std::vector<LinkId>> (Both::*paths)(uint32_t) const) const {
    std::map<LinkId, uint32_t> loads;
    uint32_t worst = 0;
    for (const uint32_t job : alive_) {
      for (const std::vector<LinkId>& path : (this->*paths)(job)) {
        for (const LinkId link : path) {
          if (fabric().tier(link) == topology::LinkTier::kLeafSpine) worst = std::max(worst, ++loads[link]);
        }
      }
    }
    return worst;
  }
  const std::set<uint32_t>& alive() const { return alive_; }
  // A link between switches fails for good. (One that comes back is on probation in the service, until probes are clean.)
  void Fail() {
    LinkId link;
    do {
      link = LinkId(random_.Below(fabric().num_links()));
    } while (fabric().tier(link) != topology::LinkTier::kLeafSpine);
    Report(link, 0);
  }

 private:
  // Over some hosts, by their number, so that both see connections in one order.
  void AddRing(uint32_t job) {
    std::vector<uint32_t> hosts(num_hosts_);
    for (uint32_t h = 0; h < num_hosts_; ++h) hosts[h] = h;
    random_.Shuffle(std::span(hosts));
    hosts.resize(2 + random_.Below(num_hosts_ - 1));
    std::ranges::sort(hosts);
    const auto num_queue_pairs = static_cast<uint16_t>(1 + random_.Below(3));
    std::vector<model::FlowDemand> flows;
    for (size_t i = 0; i < hosts.size(); ++i) {
      for (uint16_t q = 0; q < num_queue_pairs; ++q) {
        flows.push_back({.source = cluster_.gpu(hosts[i]),
                         .destination = cluster_.gpu(hosts[(i + 1) % hosts.size()]),
                         .bytes = Bytes(1e9),
                         .group = static_cast<uint32_t>(flows.size()),
                         .queue_pair = q,
                         .num_queue_pairs = num_queue_pairs});
      }
    }
    cluster_.AddJob(job, 1e15, flows);
  }

  TrafficSnapshot SnapshotOf(std::vector<JobView>* views, std::span<const LinkId> changed) {
    TrafficSnapshot snapshot = cluster_.Snapshot();
    for (const JobView& view : snapshot.jobs) {
      if (!alive_.contains(view.id.value())) continue;
      views->push_back(view);
      views->back().paths = in_force_[view.id.value()];
    }
    snapshot.jobs = *views;
    snapshot.changed_links = changed;
    return snapshot;
  }

  void Plan(std::span<const LinkId> changed) {
    std::vector<JobView> views;
    for (const JobPlan& plan : policy_->Plan(SnapshotOf(&views, changed)).jobs) in_force_[plan.id.value()] = plan.paths;
  }

  // With the weights of the policy: bytes per second of a job that is alone.
  void Request(uint32_t job) {
    std::vector<JobView> views;
    const TrafficSnapshot snapshot = SnapshotOf(&views, {});
    const LinkTable links = MakeLinkTable(snapshot);
    const JobSurvey survey = SurveyJobs(snapshot, links);
    double solo_s = 0;
    for (size_t p = 0; p < survey.size(); ++p) {
      if (survey.view(snapshot, p).id == JobId(job)) solo_s = survey.profiles[p].solo_time().value();
    }
    std::vector<PathEvent> events;
    const std::vector<model::FlowDemand>& flows = cluster_.iteration(job).flows;
    for (size_t f = 0; f < flows.size(); f += flows[f].num_queue_pairs) {
      const NicId source = fabric().nic_of(flows[f].source);
      events.emplace_back(PathsRequested{.request = f,
                                         .host = fabric().host_of(source),
                                         .job = JobId(job),
                                         .connections = {{.connection = f,
                                                          .source = source,
                                                          .destination = fabric().nic_of(flows[f].destination),
                                                          .num_queue_pairs = flows[f].num_queue_pairs,
                                                          .weight = flows[f].bytes.value() / solo_s}}});
    }
    master_.Handle(now_, events);
  }

  // Time for the service to see that links are uneven, and to act upon it; the policy looks once more, too. Leases are
  // renewed.
  void Settle() {
    for (int second = 0; second < 15; ++second) {
      now_ = now_ + SimDuration(1'000'000'000);
      std::vector<PathEvent> events;
      for (uint32_t h = 0; h < num_hosts_; ++h) {
        const auto num_leases = static_cast<uint32_t>(master_.leases().CountOf(HostId(h)));
        events.emplace_back(LeasesRenewed{.host = HostId(h), .num_leases = num_leases, .jobs = std::nullopt});
      }
      master_.Handle(now_, events);
    }
    Plan({});
  }

  Random random_;
  uint32_t num_hosts_;
  ExampleCluster cluster_;
  std::unique_ptr<TrafficPolicy> policy_;
  C4pMaster master_;
  std::map<uint32_t, std::vector<model::Path>> in_force_;  // [job], of the policy
  std::set<uint32_t> alive_;
  SimTime now_;
};

TEST(C4pAgreementTest, JobsThatComeHaveTheSamePaths) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Both both(seed);
    for (uint32_t job = 0; job < kNumJobs; ++job) {
      both.Start(job);
      for (const uint32_t running : both.alive()) {
        ASSERT_EQ(both.PathsOfPolicy(running), both.PathsOfService(running)) << "seed " << seed << ", job " << running;
      }
    }
  }
}

// Jobs that go leave gaps, and links that fail make queue pairs move: which ones may differ, as the service remembers
// in which order they came. The most loaded link is as loaded in nearly all cases, and never much more.
TEST(C4pAgreementTest, WhileJobsGoAndLinksFailTheWorstLinkIsAsBad) {
  uint32_t num_compared = 0;
  uint32_t num_equal = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Both both(1000 + seed);
    for (uint32_t job = 0; job < kNumJobs; ++job) {
      both.Start(job);
      if (job % 3 == 2) both.End(*both.alive().begin());
      if (job == 5 || job == 9) both.Fail();
      const uint32_t policy = both.WorstLoad(&Both::PathsOfPolicy);
      const uint32_t service = both.WorstLoad(&Both::PathsOfService);
      ++num_compared;
      num_equal += policy == service ? 1 : 0;
      EXPECT_LE(service, policy + 2) << "seed " << seed << ", job " << job;
      EXPECT_LE(policy, service + 2) << "seed " << seed << ", job " << job;
    }
  }
  EXPECT_GE(num_equal, num_compared * 95 / 100);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
