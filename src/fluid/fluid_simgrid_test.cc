// The same random instances on SimGrid's flow-level model and on ours, where all flows are simulated and where only one
// of each class is: equal completion times to 1e-6.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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
#include "fluid/equitable_partition.h"
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

// All-to-all among hosts under leaves of random sizes and uplinks, one or two at different times, and mostly a transfer
// or a slow uplink that breaks the symmetry.
Instance RandomAllToAll(uint64_t seed) {
  Random random(seed);
  Instance instance;
  const auto add_link = [&](double capacity) {
    instance.capacities.push_back(capacity);
    return static_cast<uint32_t>(instance.capacities.size() - 1);
  };
  struct Host {
    uint32_t leaf;
    uint32_t up;
    uint32_t down;
  };
  std::vector<Host> hosts;
  std::vector<std::pair<uint32_t, uint32_t>> leaves;  // links up and down
  const double pipe = random.Uniform(1e7, 5e7);
  const uint64_t usual_hosts = 1 + random.Below(4);
  for (uint32_t leaf = 0; leaf < 3; ++leaf) {
    leaves.emplace_back(add_link(random.Below(5) == 0 ? pipe / 2 : pipe), add_link(pipe));
    const uint64_t num_hosts = random.Below(3) == 0 ? 1 + random.Below(4) : usual_hosts;
    for (uint64_t h = 0; h < num_hosts; ++h) hosts.push_back({leaf, add_link(1e7), add_link(1e7)});
  }
  const auto send = [&](const Host& from, const Host& to, double start_s, double bytes) {
    std::vector<uint32_t> route = {from.up, to.down};
    if (from.leaf != to.leaf) route = {from.up, leaves[from.leaf].first, leaves[to.leaf].second, to.down};
    instance.transfers.push_back({std::move(route), start_s, bytes});
  };
  for (uint64_t job = 1 + random.Below(2); job > 0; --job) {
    const double start_s = 1e-3 * static_cast<double>(random.Below(500));
    for (size_t from = 0; from < hosts.size(); ++from) {
      for (size_t to = 0; to < hosts.size(); ++to) {
        if (from != to) send(hosts[from], hosts[to], start_s, 1e6 * static_cast<double>(job));
      }
    }
  }
  if (random.Below(2) == 0) send(hosts.front(), hosts.back(), 0, 3e6);
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

std::vector<std::vector<LinkUse>> RoutesOf(const Instance& instance) {
  std::vector<std::vector<LinkUse>> routes;
  for (const Transfer& transfer : instance.transfers) {
    std::vector<LinkUse>& route = routes.emplace_back();
    for (const uint32_t link : transfer.route) route.push_back({link});
  }
  return routes;
}

// Args: routes: [transfer], instead of its own.
std::vector<double> RunOurs(const Instance& instance, const std::vector<std::vector<LinkUse>>& routes) {
  FlowNetwork network(instance.capacities);
  std::vector<std::pair<SimTime, FlowId>> starts;
  for (size_t f = 0; f < routes.size(); ++f) {
    const SimTime start = SimTime::FromSeconds(Seconds(instance.transfers[f].start_s));
    starts.emplace_back(start, network.AddFlow(routes[f]));
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

// One transfer of each class for all of them. Args: num_classes: those of the instance are added.
std::vector<double> RunOursByClass(const Instance& instance, size_t* num_classes) {
  std::map<std::pair<double, double>, uint64_t> color_of_transfer;
  std::vector<uint64_t> flow_colors;
  for (const Transfer& transfer : instance.transfers) {
    const std::pair color(transfer.start_s, transfer.bytes);
    flow_colors.push_back(color_of_transfer.try_emplace(color, color_of_transfer.size()).first->second);
  }
  std::map<double, uint64_t> color_of_capacity;
  std::vector<uint64_t> link_colors;
  for (const double capacity : instance.capacities) {
    link_colors.push_back(color_of_capacity.try_emplace(capacity, color_of_capacity.size()).first->second);
  }
  const std::vector<std::vector<LinkUse>> routes = RoutesOf(instance);
  const EquitablePartition partition = FindEquitablePartition(flow_colors, link_colors, routes);
  Instance classes;
  for (const uint32_t link : partition.first_link) classes.capacities.push_back(instance.capacities[link]);
  for (const uint32_t flow : partition.first_flow) classes.transfers.push_back(instance.transfers[flow]);
  *num_classes += classes.transfers.size();
  const std::vector<double> ends_of_classes_s = RunOurs(classes, QuotientRoutes(partition, routes));
  std::vector<double> ends_s;
  for (const uint32_t c : partition.flow_class) ends_s.push_back(ends_of_classes_s[c]);
  return ends_s;
}

TEST(FluidAgainstSimGrid, EqualCompletionTimes) {
  std::vector<Instance> instances;
  for (uint64_t seed = 0; seed < kNumInstances; ++seed) instances.push_back(RandomInstance(seed));
  for (uint64_t seed = 0; seed < kNumInstances; ++seed) instances.push_back(RandomAllToAll(seed));
  const std::vector<std::vector<double>> theirs = RunOnSimGrid(instances);
  size_t num_transfers = 0;
  size_t num_classes = 0;
  for (size_t i = 0; i < instances.size(); ++i) {
    const std::vector<double> ours = RunOurs(instances[i], RoutesOf(instances[i]));
    const std::vector<double> by_class = RunOursByClass(instances[i], &num_classes);
    num_transfers += ours.size();
    for (size_t f = 0; f < ours.size(); ++f) {
      EXPECT_NEAR(ours[f], theirs[i][f], 1e-6 * (1 + theirs[i][f])) << "instance " << i << " transfer " << f;
      EXPECT_NEAR(by_class[f], theirs[i][f], 1e-6 * (1 + theirs[i][f])) << "instance " << i << " transfer " << f;
    }
  }
  EXPECT_LT(2 * num_classes, num_transfers) << "many are alike";
}

}  // namespace
}  // namespace fairlead::fluid
