// The same random instances on SimGrid's flow-level model and on ours: equal completion times to 1e-6.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

// version.h needs what s4u.hpp includes, so the order is not the alphabet's.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
// clang-format on

#include "base/random.h"
#include "fluid/flow_network.h"

namespace fairlead::fluid {
namespace {

namespace sg4 = simgrid::s4u;

constexpr int kNumInstances = 40;

struct Transfer {
  std::vector<uint32_t> route;  // no link twice
  double start_s;
  double bytes;  // whole, as SimGrid counts them
};

struct Instance {
  std::vector<double> capacities;
  std::vector<Transfer> transfers;
};

Instance RandomInstance(uint64_t seed) {
  Random random(seed);
  Instance instance;
  const uint64_t num_links = 1 + random.Below(15);
  for (uint64_t l = 0; l < num_links; ++l) instance.capacities.push_back(random.Uniform(1e6, 1e8));
  for (uint64_t f = 1 + random.Below(40); f > 0; --f) {
    std::vector<uint32_t> links(num_links);
    std::iota(links.begin(), links.end(), 0);
    random.Shuffle(std::span<uint32_t>(links));
    links.resize(1 + random.Below(std::min<uint64_t>(num_links, 5)));
    const double start_s = random.Below(2) == 0 ? 0 : 1e-3 * static_cast<double>(random.Below(2000));
    instance.transfers.push_back({links, start_s, 1e6 * static_cast<double>(1 + random.Below(100))});
  }
  return instance;
}

// SimGrid has one engine per process, so all instances share it: each gets its own links and hosts in one zone.
std::vector<std::vector<double>> RunOnSimGrid(const std::vector<Instance>& instances) {
#if SIMGRID_VERSION >= 40000
  const char* const time_precision = "--cfg=precision/timing:1e-9";
  const char* const work_precision = "--cfg=precision/work-amount:1e-9";
#else
  const char* const time_precision = "--cfg=surf/precision:1e-9";
  const char* const work_precision = "--cfg=maxmin/precision:1e-9";
#endif
  std::vector<std::string> arguments = {"fluid_simgrid_test",
                                        "--cfg=network/model:CM02",
                                        "--cfg=network/crosstraffic:0",
                                        "--cfg=network/TCP-gamma:0",
                                        "--log=root.thres:error",
                                        time_precision,
                                        work_precision};
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(arguments.size());
  sg4::Engine engine(&argc, argv.data());
#if SIMGRID_VERSION >= 40000
  auto* zone = engine.get_netzone_root()->add_netzone_star("fabric");
#else
  auto* zone = sg4::create_star_zone("fabric");
#endif
  auto* sink = zone->create_host("sink", 1e9);
  sink->seal();
  std::vector<std::vector<double>> ends_s(instances.size());
  struct Sending {
    sg4::Host* source;
    double start_s;
    double bytes;
    double* end_s;
  };
  std::vector<Sending> sendings;
  for (size_t i = 0; i < instances.size(); ++i) {
    std::vector<sg4::Link*> links;
    for (size_t l = 0; l < instances[i].capacities.size(); ++l) {
      links.push_back(zone->create_link("l" + std::to_string(i) + "." + std::to_string(l), instances[i].capacities[l]));
      links.back()->set_latency(0.0)->seal();
    }
    ends_s[i].resize(instances[i].transfers.size());
    for (size_t f = 0; f < instances[i].transfers.size(); ++f) {
      const Transfer& transfer = instances[i].transfers[f];
      auto* source = zone->create_host("h" + std::to_string(i) + "." + std::to_string(f), 1e9);
      source->seal();
      std::vector<sg4::LinkInRoute> route;
      for (const uint32_t link : transfer.route) route.emplace_back(links[link]);
      zone->add_route(source->get_netpoint(), nullptr, nullptr, nullptr, route, false);
      sendings.push_back({source, transfer.start_s, transfer.bytes, &ends_s[i][f]});
    }
  }
  zone->seal();
  for (const Sending& sending : sendings) {
    const auto body = [sending, sink] {
      sg4::this_actor::sleep_for(sending.start_s);
      sg4::Comm::sendto(sending.source, sink, static_cast<uint64_t>(sending.bytes));
      *sending.end_s = sg4::Engine::get_clock();
    };
#if SIMGRID_VERSION >= 40000
    sink->add_actor("sender", body);
#else
    sg4::Actor::create("sender", sink, body);
#endif
  }
  engine.run();
  return ends_s;
}

std::vector<double> RunOurs(const Instance& instance) {
  FlowNetwork network(instance.capacities);
  std::vector<std::pair<SimTime, FlowId>> starts;
  for (const Transfer& transfer : instance.transfers) {
    std::vector<LinkUse> route;
    for (const uint32_t link : transfer.route) route.push_back({link});
    starts.emplace_back(SimTime::FromSeconds(Seconds(transfer.start_s)), network.AddFlow(route));
  }
  std::sort(starts.begin(), starts.end());
  std::vector<double> ends_s(instance.transfers.size(), -1);
  std::vector<FlowId> completed;
  for (size_t next = 0; next < starts.size() || network.NextCompletion() < SimTime::Never();) {
    const SimTime start = next < starts.size() ? starts[next].first : SimTime::Never();
    completed.clear();
    network.AdvanceTo(std::min(start, network.NextCompletion()), &completed);
    for (const FlowId flow : completed) ends_s[flow.index()] = network.now().seconds().value();
    for (; next < starts.size() && starts[next].first == network.now(); ++next) {
      const FlowId flow = starts[next].second;
      network.Start(flow, instance.transfers[flow.index()].bytes);
    }
  }
  return ends_s;
}

TEST(FluidAgainstSimGrid, EqualCompletionTimes) {
  std::vector<Instance> instances;
  for (uint64_t seed = 0; seed < kNumInstances; ++seed) instances.push_back(RandomInstance(seed));
  const std::vector<std::vector<double>> theirs = RunOnSimGrid(instances);
  for (size_t i = 0; i < instances.size(); ++i) {
    const std::vector<double> ours = RunOurs(instances[i]);
    for (size_t f = 0; f < ours.size(); ++f) {
      EXPECT_NEAR(ours[f], theirs[i][f], 1e-6 * (1 + theirs[i][f])) << "instance " << i << " transfer " << f;
    }
  }
}

}  // namespace
}  // namespace fairlead::fluid
