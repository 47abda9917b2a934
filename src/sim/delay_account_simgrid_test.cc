// The account of delay against SimGrid, which shares no line with us: how long jobs take beside others, how long alone,
// and how much faster a job is without whom it blames most. All numbers of SimGrid come from ends of iterations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

// version.h needs what s4u.hpp includes, so the order is not the alphabet's.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
// clang-format on

#include "base/random.h"
#include "sim/run_laws.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

namespace sg4 = simgrid::s4u;

constexpr double kPortBytesPerS = 25e9;  // 200 Gb/s
constexpr double kUplinkBytesPerS = 12.5e9;
constexpr uint32_t kNumLeaves = 3;
constexpr uint32_t kHostsPerLeaf = 5;

// An all-reduce of two hosts under two leaves: each sends all bytes to the other.
struct CrowdJob {
  uint32_t hosts[2] = {};
  double compute_s = 0;
  uint64_t bytes = 0;
  double start_fraction = 0;  // of the compute that is done when flows start
  double start_s = 0;         // first it arrives; when it has been simulated, the start of its first iteration
  uint32_t iterations = 0;

  uint32_t leaf(int end) const { return hosts[end] / kHostsPerLeaf; }
};
struct Crowd {
  std::vector<CrowdJob> jobs;
  double message_s = 0;  // latency; an all-reduce of two is two messages, one after the other
};

// Jobs that meet on the uplinks of three leaves below one spine, each on its own hosts.
Crowd DrawCrowd(uint64_t seed) {
  Random random(seed);
  Crowd crowd;
  crowd.jobs.resize(2 + random.Below(4));
  if (seed % 2 == 0) crowd.message_s = 1e-3 * static_cast<double>(random.Below(200));
  for (uint32_t j = 0; j < crowd.jobs.size(); ++j) {
    CrowdJob& job = crowd.jobs[j];
    job.hosts[0] = j;
    job.hosts[1] = static_cast<uint32_t>(kHostsPerLeaf * (1 + random.Below(2)) + j);
    job.compute_s = 0.05 + 1e-3 * static_cast<double>(random.Below(1000));
    job.bytes = 1000000 * (500 + random.Below(6000));
    job.start_fraction = 0.01 * static_cast<double>(random.Below(101));
    job.start_s = 1e-3 * static_cast<double>(random.Below(5000));
    job.iterations = static_cast<uint32_t>(20 + random.Below(60));
  }
  return crowd;
}

RunResult Simulate(const Crowd& crowd) {
  std::string text = fmt::format(
      "title: crowd\nfabric: {{kind: clos2, leaves: {}, hosts_per_leaf: {}, spines: 1, uplink_gbps: 100, host: {{gpus: "
      "1, nics: 1, ports_per_nic: 1, port_gbps: 200, sockets: 1, pcie_switches: 1, pcie_gigabytes_per_s: 64}}}}\n"
      "policies: [ecmp]\nseeds: 1\nsimulate_s: 2000\ngoodput: 1\ndetail: edge\n"
      "latency: {{ends_us: {}, hop_us: 0}}\njobs:\n",
      kNumLeaves, kHostsPerLeaf, crowd.message_s * 1e6);
  for (const CrowdJob& job : crowd.jobs) {
    text += fmt::format(
        "  - {{gpus: 2, gpus_per_host: 1, hosts: [h{}, h{}], compute_s: {}, size_mb: {}, start_fraction: {}, "
        "arrival_s: {}, iterations: {}}}\n",
        job.hosts[0], job.hosts[1], job.compute_s, job.bytes / 1000000, job.start_fraction, job.start_s,
        job.iterations);
  }
  auto scenario = ParseScenario(text, "crowd.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  return RunScenario(*scenario, {.num_threads = 1}, never, nullptr).value().runs.front();
}

// Many crowds side by side, which share no link, in one simulation: an engine lives once in a process.
class Outside {
 public:
  explicit Outside(int* argc) : engine_(argc, argv_) {
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0", "surf/precision:1e-9"}) {
      sg4::Engine::set_config(setting);
    }
    zone_ = sg4::create_star_zone("outside");
    sink_ = AddHost();
    sink_->seal();
  }

  // Returns the number of the run.
  size_t Add(const Crowd& crowd) {
    std::vector<sg4::Link*> up, down;
    for (uint32_t leaf = 0; leaf < kNumLeaves; ++leaf) {
      up.push_back(AddLink(kUplinkBytesPerS));
      down.push_back(AddLink(kUplinkBytesPerS));
    }
    ends_s_.emplace_back(crowd.jobs.size());
    for (size_t j = 0; j < crowd.jobs.size(); ++j) {
      const CrowdJob& job = crowd.jobs[j];
      std::vector<sg4::Host*> senders;
      for (const int end : {0, 1}) {
        const std::vector<sg4::LinkInRoute> route = {
            sg4::LinkInRoute(AddLink(kPortBytesPerS)), sg4::LinkInRoute(up[job.leaf(end)]),
            sg4::LinkInRoute(down[job.leaf(1 - end)]), sg4::LinkInRoute(AddLink(kPortBytesPerS))};
        senders.push_back(AddHost());
        senders.back()->seal();
        zone_->add_route(senders.back()->get_netpoint(), nullptr, nullptr, nullptr, route, false);
      }
      actors_.emplace_back([this, job, latency_s = 2 * crowd.message_s, senders, play = ends_s_.size() - 1, j] {
        sg4::this_actor::sleep_for(job.start_s);
        for (uint32_t i = 0; i < job.iterations; ++i) {
          sg4::this_actor::sleep_for(job.compute_s * job.start_fraction);
          std::vector<sg4::CommPtr> running;
          for (sg4::Host* sender : senders) running.push_back(sg4::Comm::sendto_async(sender, sink_, job.bytes));
          sg4::this_actor::sleep_for(job.compute_s * (1 - job.start_fraction));
          double sent_s = 0;
          for (const sg4::CommPtr& comm : running) {
            comm->wait();
            sent_s = std::max(sent_s, comm->get_finish_time());
          }
          sg4::this_actor::sleep_until(sent_s + latency_s);
          ends_s_[play][j].push_back(sg4::Engine::get_clock());
        }
      });
    }
    return ends_s_.size() - 1;
  }

  void Run() {
    zone_->seal();
    for (const auto& actor : actors_) sg4::Actor::create("job", sink_, actor);
    engine_.run();
  }

  double EndOf(size_t play, size_t job) const { return ends_s_[play][job].back(); }

 private:
  sg4::Host* AddHost() { return zone_->create_host(fmt::format("host{}", num_hosts_++), 1e9); }

  sg4::Link* AddLink(double bytes_per_s) {
    sg4::Link* link = zone_->create_link(fmt::format("link{}", num_links_++), bytes_per_s);
    link->set_latency(0.0);
    link->seal();
    return link;
  }

  char name_[8] = "outside";
  char* argv_[2] = {name_, nullptr};
  sg4::Engine engine_;
  sg4::NetZone* zone_ = nullptr;
  sg4::Host* sink_ = nullptr;
  std::vector<std::function<void()>> actors_;
  std::vector<std::vector<std::vector<double>>> ends_s_;  // [run][job][iteration]
  uint64_t num_hosts_ = 0;
  uint64_t num_links_ = 0;
};

// A crowd here, and the runs of SimGrid that it is compared with.
struct Comparison {
  uint64_t seed = 0;
  Crowd crowd;
  RunResult ours;
  size_t together = 0;
  size_t nudged = 0;          // the same with compute that is some nanoseconds longer
  std::vector<size_t> alone;  // [job]
  struct Removal {
    size_t victim = 0;
    double blamed_s = 0;  // on the job that is missing
    size_t play = 0;
    size_t index = 0;  // of the victim, in the run
  };
  std::vector<Removal> removals;
};

void AddRemovals(Outside* outside, Comparison* c) {
  for (size_t j = 0; j < c->crowd.jobs.size(); ++j) {
    const JobResult& job = c->ours.jobs[j];
    if (job.lost_to.empty() || job.lost_to.front().lost_s < 0.02 * job.held_s) continue;
    ASSERT_EQ(job.lost_to.front().cause, LossCause::kJob);
    const size_t culprit = job.lost_to.front().culprit.index();
    Crowd without = c->crowd;
    without.jobs.erase(without.jobs.begin() + static_cast<ptrdiff_t>(culprit));
    c->removals.push_back({.victim = j,
                           .blamed_s = job.lost_to.front().lost_s,
                           .play = outside->Add(without),
                           .index = j - (culprit < j ? 1 : 0)});
  }
}

TEST(DelayAccountSimGridTest, SlowdownsAndLossesAreThoseOfEndsOfIterations) {
  int argc = 1;
  Outside outside(&argc);
  std::vector<Comparison> comparisons;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Comparison& c = comparisons.emplace_back();
    c.seed = seed;
    c.crowd = DrawCrowd(seed);
    c.ours = Simulate(c.crowd);
    for (size_t j = 0; j < c.crowd.jobs.size(); ++j) c.crowd.jobs[j].start_s = c.ours.jobs[j].start_s;
    ASSERT_EQ(FindBrokenAccount(c.ours), "");
    c.together = outside.Add(c.crowd);
    Crowd nudged = c.crowd;
    for (size_t j = 0; j < nudged.jobs.size(); ++j) nudged.jobs[j].compute_s += 1e-8 * static_cast<double>(j + 1);
    c.nudged = outside.Add(nudged);
    for (const CrowdJob& job : c.crowd.jobs) c.alone.push_back(outside.Add({{job}, c.crowd.message_s}));
    AddRemovals(&outside, &c);
  }
  outside.Run();

  int num_removals = 0;
  int num_sensitive = 0;
  for (const Comparison& c : comparisons) {
    SCOPED_TRACE(c.seed);
    double sum = 0, worst = 0, most_tolerance = 0;
    for (size_t j = 0; j < c.crowd.jobs.size(); ++j) {
      const JobResult& job = c.ours.jobs[j];
      const double held_s = outside.EndOf(c.together, j) - c.crowd.jobs[j].start_s;
      const double alone_s = outside.EndOf(c.alone[j], 0) - c.crowd.jobs[j].start_s;
      // Where jobs evade each other for the length of a latency, a nanosecond may grow with each iteration.
      const double turned_s = std::abs(outside.EndOf(c.nudged, j) - outside.EndOf(c.together, j));
      const double tolerance = std::max(1e-6, turned_s / held_s);
      num_sensitive += tolerance > 1e-6 ? 1 : 0;
      EXPECT_NEAR(job.held_s, held_s, tolerance * held_s) << "job " << j;
      EXPECT_NEAR(job.lost_s, held_s - alone_s, tolerance * held_s) << "job " << j;
      EXPECT_NEAR(job.slowdown, held_s / alone_s, tolerance * job.slowdown) << "job " << j;
      most_tolerance = std::max(most_tolerance, tolerance);
      sum += held_s / alone_s;
      worst = std::max(worst, held_s / alone_s);
    }
    EXPECT_NEAR(c.ours.mean_slowdown, sum / static_cast<double>(c.crowd.jobs.size()),
                most_tolerance * c.ours.mean_slowdown);
    EXPECT_NEAR(c.ours.worst_slowdown, worst, most_tolerance * worst);
    for (const Comparison::Removal& removal : c.removals) {
      const double gained_s = outside.EndOf(c.together, removal.victim) - outside.EndOf(removal.play, removal.index);
      EXPECT_GT(gained_s, 0) << "job " << removal.victim << " blames " << removal.blamed_s << " s";
      // Of two jobs, one has lost all of its time to the other.
      if (c.crowd.jobs.size() == 2) {
        EXPECT_NEAR(gained_s, removal.blamed_s, most_tolerance * c.ours.jobs[removal.victim].held_s);
      }
      ++num_removals;
    }
  }
  EXPECT_GT(num_removals, 100);
  EXPECT_LT(num_sensitive, 90) << "of some 350 jobs";
}

}  // namespace
}  // namespace fairlead::sim
