#include "experiments/packet-level/twin_case.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"
#include "fluid/flow_network.h"

namespace fairlead::experiments::packet_level {

namespace {

// Packet links: up and down of each host, then leaf -> spine and spine -> leaf of each pair. Fluid links: the same,
// then one pipe up and one down for each leaf.
uint32_t HostUp(uint32_t host) { return host; }
uint32_t HostDown(uint32_t host) { return kNumHosts + host; }
uint32_t LeafUp(uint32_t leaf, uint32_t spine) { return 2 * kNumHosts + leaf * kNumSpines + spine; }
uint32_t LeafDown(uint32_t leaf, uint32_t spine) { return 2 * kNumHosts + (kNumLeaves + leaf) * kNumSpines + spine; }
constexpr uint32_t kNumPacketLinks = 2 * kNumHosts + 2 * kNumLeaves * kNumSpines;
uint32_t PipeUp(uint32_t leaf) { return kNumPacketLinks + leaf; }
uint32_t PipeDown(uint32_t leaf) { return kNumPacketLinks + kNumLeaves + leaf; }

// The last packet of a message crosses the links after the first one by itself.
double EmptyPathLatency(size_t num_links) {
  const packet::PacketOptions options;
  const double on_wire = (options.payload + options.header) / kLinkBytesPerS;
  return static_cast<double>(num_links) * kLinkDelayS + static_cast<double>(num_links - 1) * on_wire;
}

}  // namespace

CaseBuilder::CaseBuilder(std::string name, packet::Transport transport, uint32_t num_dead_uplinks) {
  twin_.name = std::move(name);
  twin_.num_dead_uplinks = num_dead_uplinks;
  twin_.options.transport = transport;
  for (uint32_t l = 0; l < kNumPacketLinks; ++l) AddLink(l >= kNumHosts);
  const double goodput = packet::PacketOptions().goodput();
  for (uint32_t pipe = 0; pipe < 2 * kNumLeaves; ++pipe) {
    const uint32_t num_live = kNumSpines - (pipe % kNumLeaves == 0 ? num_dead_uplinks : 0);
    twin_.fluid_capacities.push_back(num_live * kLinkBytesPerS * goodput);
  }
}

void CaseBuilder::AddLink(bool in_switch) {
  twin_.packets.links.push_back({.bytes_per_s = kLinkBytesPerS, .delay_s = kLinkDelayS, .in_switch = in_switch});
  twin_.fluid_capacities.push_back(kLinkBytesPerS * packet::PacketOptions().goodput());
}

uint32_t CaseBuilder::AddConnection(uint32_t source, uint32_t destination, uint32_t spine, uint32_t level) {
  std::vector<uint32_t> path = {HostUp(source), HostDown(destination)};
  if (Leaf(source) != Leaf(destination)) {
    path = {HostUp(source), LeafUp(Leaf(source), spine), LeafDown(Leaf(destination), spine), HostDown(destination)};
  }
  std::vector<fluid::LinkUse> route;
  for (const uint32_t link : path) route.push_back({link});
  twin_.routes.push_back(std::move(route));
  twin_.latency_s.push_back(EmptyPathLatency(path.size()));
  twin_.packets.connections.push_back({.paths = {std::move(path)}, .level = level});
  twin_.ends.push_back({source, destination, spine});
  return static_cast<uint32_t>(twin_.routes.size() - 1);
}

uint32_t CaseBuilder::AddSprayed(uint32_t source, uint32_t destination) {
  const uint32_t from = Leaf(source);
  const uint32_t to = Leaf(destination);
  FL_CHECK_MSG(from != to, "only what crosses spines is sprayed");
  packet::Connection connection;
  for (uint32_t spine = from == 0 || to == 0 ? twin_.num_dead_uplinks : 0; spine < kNumSpines; ++spine) {
    connection.paths.push_back({HostUp(source), LeafUp(from, spine), LeafDown(to, spine), HostDown(destination)});
  }
  twin_.packets.connections.push_back(std::move(connection));
  twin_.ends.push_back({source, destination, std::nullopt});
  twin_.routes.push_back({{HostUp(source)}, {PipeUp(from)}, {PipeDown(to)}, {HostDown(destination)}});
  twin_.latency_s.push_back(EmptyPathLatency(4));
  return static_cast<uint32_t>(twin_.routes.size() - 1);
}

uint32_t CaseBuilder::AddMessage(uint32_t connection, uint64_t bytes, std::vector<uint32_t> after, double delay_s) {
  twin_.packets.messages.push_back(
      {.connection = connection, .bytes = bytes, .after = std::move(after), .delay_s = delay_s});
  return static_cast<uint32_t>(twin_.packets.messages.size() - 1);
}

packet::PacketResult SimulateTwin(const TwinCase& twin, uint64_t seed) {
  packet::PacketOptions options = twin.options;
  options.seed = seed;
  return SimulatePackets(twin.packets, options);
}

TwinTimes TimesOf(const packet::PacketResult& result) { return {result.ready_s, result.finish_s}; }

TwinTimes RunPackets(const TwinCase& twin, uint64_t seed) { return TimesOf(SimulateTwin(twin, seed)); }

namespace {

// Messages on the fluid engine: those of a connection one after another.
class FluidRun {
 public:
  FluidRun(const TwinCase& twin, bool adds_latency)
      : twin_(twin), adds_latency_(adds_latency), network_(twin.fluid_capacities) {
    const std::vector<packet::Message>& messages = twin.packets.messages;
    for (size_t c = 0; c < twin.routes.size(); ++c) {
      network_.AddFlow(twin.routes[c], twin.packets.connections[c].level);
    }
    queues_.resize(twin.routes.size());
    followers_.resize(messages.size());
    for (uint32_t m = 0; m < messages.size(); ++m) {
      waits_.push_back(messages[m].after.size());
      for (const uint32_t before : messages[m].after) followers_[before].push_back(m);
      if (messages[m].after.empty()) Schedule(SimTime::FromSeconds(Seconds(messages[m].delay_s)), m, true);
    }
    times_.ready_s.assign(messages.size(), std::numeric_limits<double>::quiet_NaN());
    times_.finish_s = times_.ready_s;
  }

  TwinTimes Run() {
    std::vector<fluid::FlowId> completed;
    for (;;) {
      const SimTime planned = planned_.empty() ? SimTime::Never() : planned_.begin()->first;
      const SimTime at = std::min(planned, network_.NextCompletion());
      if (at == SimTime::Never()) return std::move(times_);
      completed.clear();
      network_.AdvanceTo(at, &completed);
      for (const fluid::FlowId flow : completed) Sent(flow.value());
      while (!planned_.empty() && planned_.begin()->first == at) {
        const Planned next = planned_.begin()->second;
        planned_.erase(planned_.begin());
        next.is_ready ? Ready(next.message) : Arrived(next.message);
      }
    }
  }

 private:
  struct Planned {
    uint32_t message = 0;
    bool is_ready = false;  // else it arrives
  };

  void Schedule(SimTime at, uint32_t message, bool is_ready) { planned_.insert({at, {message, is_ready}}); }

  void Ready(uint32_t message) {
    times_.ready_s[message] = network_.now().seconds().value();
    const packet::Message& ready = twin_.packets.messages[message];
    queues_[ready.connection].push_back(message);
    if (queues_[ready.connection].size() == 1) Start(ready.connection);
  }
  void Start(uint32_t connection) {
    network_.Start(fluid::FlowId(connection),
                   static_cast<double>(twin_.packets.messages[queues_[connection].front()].bytes));
  }
  void Sent(uint32_t connection) {
    const uint32_t message = queues_[connection].front();
    queues_[connection].pop_front();
    if (!queues_[connection].empty()) Start(connection);
    const double latency_s = adds_latency_ ? twin_.latency_s[connection] : 0;
    Schedule(network_.now() + SimDuration::FromSeconds(Seconds(latency_s)), message, false);
  }
  void Arrived(uint32_t message) {
    times_.finish_s[message] = network_.now().seconds().value();
    for (const uint32_t follower : followers_[message]) {
      if (--waits_[follower] > 0) continue;
      const double delay_s = twin_.packets.messages[follower].delay_s;
      Schedule(network_.now() + SimDuration::FromSeconds(Seconds(delay_s)), follower, true);
    }
  }

  const TwinCase& twin_;
  bool adds_latency_;
  fluid::FlowNetwork network_;
  std::multimap<SimTime, Planned> planned_;
  std::vector<std::deque<uint32_t>> queues_;  // [connection] its first message is being sent
  std::vector<size_t> waits_;                 // [message] for so many others
  std::vector<std::vector<uint32_t>> followers_;
  TwinTimes times_;
};

}  // namespace

TwinTimes RunFluid(const TwinCase& twin, bool adds_latency) { return FluidRun(twin, adds_latency).Run(); }

}  // namespace fairlead::experiments::packet_level
