// Agents that say anything that can be said on a stream, several in one moment, about the same few jobs, connections
// and addresses: the controller goes on, and what obedient hosts hold stays as it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "codec/record.h"
#include "controller/host_message_fields.h"
#include "controller/traffic_controller_example.h"
#include "wire/host_message_codec.h"
#include "wire/random_messages.h"

namespace fairlead::controller {
namespace {

constexpr uint32_t kNumHonest = 2;  // hosts 0 and 1

// What an agent knows that others could not guess.
struct Known {
  uint32_t host = 0;
  uint32_t num_links = 0;
  std::vector<uint64_t> aliases;     // of arrivals that it was asked to prepare
  std::vector<ProbesWanted> probes;  // that it was asked for
};

// An archive that replaces names, addresses and numbers of a record by one of a few, or by what the agent knows, so
// that messages are about the same things. Rules and laws may not hold any more.
class Narrower {
 public:
  Narrower(const Known& known, Random* random) : known_(known), random_(random) {}

  template <class T, class Rule = codec::AnyValue>
  void Required(const char* name, T& value, const Rule& /*rule*/ = {}) {
    Narrow(name, &value);
  }
  template <class T, class Rule = codec::AnyValue>
  void Optional(const char* name, T& value, const Rule& /*rule*/ = {}) {
    Narrow(name, &value);
  }
  template <class T, class Rule = codec::AnyValue>
  void Required(int /*number*/, const char* name, T& value, const Rule& /*rule*/ = {}) {
    Narrow(name, &value);
  }
  template <class T, class Rule = codec::AnyValue>
  void Optional(int /*number*/, const char* name, T& value, const Rule& /*rule*/ = {}) {
    Narrow(name, &value);
  }
  template <class T>
  void Inline(const char* /*name*/, T& value) {
    Describe(*this, value);
  }
  template <class Kind, class Variant>
  void OneOf(int /*number*/, const char* name, Variant& value) {
    if (auto* kind = std::get_if<Kind>(&value)) Narrow(name, kind);
  }
  template <class FindFault>
  void Law(FindFault /*find_fault*/) {}

 private:
  bool Mostly() { return random_->Below(10) != 0; }
  uint32_t Below(size_t bound) { return static_cast<uint32_t>(random_->Below(bound)); }

  template <class T>
  void Narrow(std::string_view name, T* value) {
    if constexpr (std::same_as<T, std::string>) {
      static constexpr std::array<const char*, 3> kNames = {"gpt", "bert", "other"};
      *value = name == "error" && Mostly() ? "" : kNames[Below(kNames.size())];
    } else if constexpr (std::same_as<T, IpAddress>) {
      *value = AddressFor(name);
    } else if constexpr (std::same_as<T, uint16_t>) {
      if (random_->Below(2) == 0) *value = static_cast<uint16_t>(40'000 + random_->Below(4));
    } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      if (name == "protocol" && Mostly()) {
        *value = static_cast<T>(random_->Below(4) == 0 ? 17 : 6);
      } else if (name == "alias" && !known_.aliases.empty()) {
        *value = static_cast<T>(known_.aliases[Below(known_.aliases.size())]);
      } else if (random_->Below(4) != 0) {
        *value = static_cast<T>(random_->Below(5));
      }
    } else if constexpr (codec::kIsOptional<T>) {
      if (value->has_value()) Narrow(name, &**value);
    } else if constexpr (codec::kIsList<T> || codec::kIsArray<T>) {
      for (auto& item : *value) Narrow(name, &item);
    } else if constexpr (codec::IsDescribed<T>) {
      Describe(*this, *value);
    }
  }

  IpAddress AddressFor(std::string_view name) {
    if (name == "source" && Mostly()) return NicAddress(known_.host);
    if (name == "hops") return InterfaceAddress(LinkId(Below(known_.num_links)));
    return NicAddress(Below(7));  // the last one is nobody's
  }

  const Known& known_;
  Random* random_;
};

// Messages as they come out of the wire, which refuses what breaks a rule.
std::vector<FromAgent> AnyMessages(const Known& known, Random* random) {
  FromAgent message = wire::RandomFromAgent(random);
  Narrower narrower(known, random);
  if (random->Below(8) != 0) Describe(narrower, message);
  auto* finished = std::get_if<ProbesFinished>(&message);
  if (finished != nullptr && !known.probes.empty()) {
    const ProbesWanted& wanted = known.probes[random->Below(known.probes.size())];
    finished->round = wanted.round;
    for (size_t s = 0; s < wanted.scans.size() && s < finished->scans.size(); ++s) {
      std::vector<ProbedRoute> routes = std::move(finished->scans[s].routes);
      finished->scans[s] = NothingSeenOf(wanted.scans[s]);
      finished->scans[s].routes = std::move(routes);
    }
  }
  if (auto* held = std::get_if<ConnectionsHeld>(&message); held != nullptr && random->Below(4) != 0) {
    for (HeldConnection& connection : held->connections) {
      connection.wanted.num_queue_pairs = 1 + static_cast<uint32_t>(random->Below(2));
      connection.queue_pairs.resize(connection.wanted.num_queue_pairs);
      connection.socket_ports.resize(connection.wanted.num_queue_pairs);
    }
  }
  if (std::holds_alternative<HostHello>(message) && random->Below(20) != 0) message = Heartbeat{};
  auto read = wire::ReadFromAgent(wire::WriteFromAgent(message));
  return read.ok() ? *read : std::vector<FromAgent>();
}

class HostileAgents {
 public:
  HostileAgents(LiveCluster* cluster, uint64_t seed) : cluster_(*cluster), random_(seed) {
    for (uint32_t host = kNumHonest; host < cluster->num_hosts(); ++host) {
      agents_.push_back({.stream = StreamId(),
                         .known = {.host = host,
                                   .num_links = static_cast<uint32_t>(cluster->fabric().num_links()),
                                   .aliases = {},
                                   .probes = {}}});
    }
  }

  // One call of the controller, with up to six messages of them.
  void SayAnything() {
    std::vector<TrafficInput> inputs;
    for (uint64_t n = 1 + random_.Below(6); n > 0; --n) {
      Agent& agent = agents_[random_.Below(agents_.size())];
      if (!agent.stream.valid()) {
        agent.stream = StreamId(next_stream_++);
        inputs.emplace_back(StreamMessage{agent.stream, cluster_.Hello(agent.known.host)});
      } else if (random_.Below(60) == 0) {
        inputs.emplace_back(StreamEnded{agent.stream});
        agent.stream = StreamId();
      } else {
        for (FromAgent& message : AnyMessages(agent.known, &random_)) {
          ++num_said_[message.index()];
          inputs.emplace_back(StreamMessage{agent.stream, std::move(message)});
        }
      }
    }
    for (const TrafficOutput& output : cluster_.Send(inputs)) Hear(output);
  }
  void GoAway() {
    for (Agent& agent : agents_) {
      if (agent.stream.valid()) cluster_.Send({StreamEnded{agent.stream}});
      agent.stream = StreamId();
    }
  }
  // Kinds of messages that were said.
  size_t num_kinds() const {
    return static_cast<size_t>(std::ranges::count_if(num_said_, [](uint64_t n) { return n > 0; }));
  }

 private:
  struct Agent {
    StreamId stream;  // invalid: none
    Known known;
  };

  void Hear(const TrafficOutput& output) {
    const auto* ended = std::get_if<EndStream>(&output);
    const auto* sent = std::get_if<SendToStream>(&output);
    for (Agent& agent : agents_) {
      if (ended != nullptr && ended->stream == agent.stream) agent.stream = StreamId();
      if (sent == nullptr || sent->stream != agent.stream) continue;
      if (const auto* prepare = std::get_if<PrepareArrival>(&sent->message))
        agent.known.aliases.push_back(prepare->alias);
      if (const auto* probes = std::get_if<ProbesWanted>(&sent->message)) agent.known.probes.push_back(*probes);
    }
  }

  LiveCluster& cluster_;
  Random random_;
  std::vector<Agent> agents_;  // of hosts from kNumHonest on
  uint32_t next_stream_ = 1'000'000;
  std::array<uint64_t, std::variant_size_v<FromAgent>> num_said_ = {};
};

size_t NumHonest(const LiveCluster& cluster) {
  size_t num = 0;
  for (const QueuePairOnFabric& pair : cluster.controller().QueuePairs()) {
    num += pair.source.value() < kNumHonest && pair.wire_port != 0 ? 1 : 0;
  }
  return num;
}

// Connections of each job, and hosts that hold them: as the path service has them, and in the controller's own list.
using Sizes = std::map<std::string, std::pair<size_t, size_t>>;

Sizes SizesOfPaths(const LiveCluster& cluster) {
  std::map<std::string, std::pair<std::set<uint64_t>, std::set<NicId>>> jobs;
  for (const QueuePairOnFabric& pair : cluster.controller().QueuePairs()) {
    jobs[pair.job].first.insert(pair.connection);
    jobs[pair.job].second.insert(pair.source);  // a host has one NIC
  }
  Sizes sizes;
  for (const auto& [name, job] : jobs) sizes[name] = {job.first.size(), job.second.size()};
  return sizes;
}

Sizes SizesInList(const LiveCluster& cluster) {
  Sizes sizes;
  for (const JobOnFabric& job : cluster.controller().Jobs()) sizes[job.name] = {job.num_connections, job.num_hosts};
  return sizes;
}

TEST(HostileAgentsTest, AnyMessagesOfOthersLeaveTheControllerAndHonestHostsAsTheyAre) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LiveCluster cluster(LiveDecisions{.paths = seed % 2 == 0, .levels = true});
    for (uint32_t host = 0; host < kNumHonest; ++host) {
      cluster.Connect(host);
      cluster.Ask(host, "gpt", 100 + host, 1 - host);
      cluster.Settle();
      cluster.Open(host, "gpt", 100 + host, 41'000);
    }
    cluster.Settle();
    ASSERT_EQ(NumHonest(cluster), kNumHonest);
    HostileAgents hostile(&cluster, seed);
    size_t most_queue_pairs = 0;
    for (int step = 0; step < 400; ++step) {
      hostile.SayAnything();
      ASSERT_EQ(SizesInList(cluster), SizesOfPaths(cluster)) << "at step " << step;
      if (step % 8 == 0) cluster.Run(1);
      if (HasFailure()) return;
      ASSERT_EQ(NumHonest(cluster), kNumHonest) << "at step " << step;
      most_queue_pairs = std::max(most_queue_pairs, cluster.controller().QueuePairs().size());
      cluster.controller().Jobs();
      cluster.controller().Hosts();
      cluster.controller().Paths();
      cluster.controller().Links();
    }
    EXPECT_GE(hostile.num_kinds(), std::variant_size_v<FromAgent> - 1)
        << "a second hello is rare, all others were said";
    EXPECT_GE(most_queue_pairs, 10u) << "and some of it was believed";
    cluster.ExpectReplay();
    hostile.GoAway();
    for (int second = 0; second < 200; ++second) {  // their leases end
      cluster.Run(1);
      ASSERT_EQ(SizesInList(cluster), SizesOfPaths(cluster)) << second << " s later";
    }
    EXPECT_EQ(cluster.controller().QueuePairs().size(), kNumHonest);
    EXPECT_EQ(cluster.controller().Jobs().size(), 1u);
    // And the next controller can read what was kept.
    cluster.Restart();
    for (uint32_t host = 0; host < kNumHonest; ++host) cluster.Connect(host);
    cluster.Run(3);
    EXPECT_EQ(NumHonest(cluster), kNumHonest);
  }
}

}  // namespace
}  // namespace fairlead::controller
