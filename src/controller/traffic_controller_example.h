// A small hashing fabric and obedient agents, for tests of the traffic controller.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "controller/probed_routes.h"
#include "controller/traffic_controller.h"
#include "topology/clos_fabrics.h"
#include "traffic/default_paths.h"
#include "traffic/path_service.h"
#include "traffic/path_service_registry.h"
#include "traffic/policy_registry.h"

namespace fairlead::controller {

// 2 leaves with 3 hosts each, 4 spines; one GPU and one NIC per host.
inline topology::Fabric LiveFabric() {
  topology::ClosSpec spec;
  spec.hosts_per_leaf = 3;
  spec.spines = 4;
  spec.host.gpus = 1;
  spec.host.nics = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  return topology::BuildClos(spec).value();
}

inline IpAddress NicAddress(uint32_t nic) { return IpAddress::FromIpv4(0x0a000001 + nic); }
inline uint32_t HostOf(const IpAddress& nic) { return nic.ipv4() - NicAddress(0).ipv4(); }
inline IpAddress InterfaceAddress(LinkId link) { return IpAddress::FromIpv4(0x0a800000 + link.value()); }

inline topology::AddressBook LiveAddresses(const topology::Fabric& fabric) {
  topology::AddressBook book;
  for (uint32_t n = 0; n < fabric.num_nics(); ++n) EXPECT_TRUE(book.AddNic(NicAddress(n), NicId(n)).ok());
  for (uint32_t l = 0; l < fabric.num_links(); ++l) {
    if (topology::IsNetwork(fabric.tier(LinkId(l)))) {
      EXPECT_TRUE(book.AddRouterInterface(InterfaceAddress(LinkId(l)), LinkId(l)).ok());
    }
  }
  return book;
}

// What an agent knows, and what its kernel does. NIC and host have the same number.
struct FakeAgent {
  struct Held {
    std::string job;
    HeldConnection connection;
  };
  std::optional<StreamId> stream;
  std::map<std::pair<std::string, uint64_t>, Held> held;
  // [alias] -> order; the port before it is rewritten, too, as packets may be on their way.
  std::map<uint64_t, PrepareArrival> arrivals;
  std::map<std::string, uint32_t> levels;
  std::string arrival_error;  // what it answers to PrepareArrival
  bool answers_arrivals = true;
  uint32_t moves_to_refuse = 0;  // of its connections, the next ones
  uint32_t num_refused = 0;
  bool loses_refusals = false;  // its stream breaks first
  bool must_announce = false;
  std::vector<FromAgent> unsent;  // answers
};

// What the controller of a cluster decides about.
struct LiveDecisions {
  bool paths = true;
  bool levels = true;
};

// A controller, a path service behind it, a store, and all agents.
class LiveCluster {
 public:
  explicit LiveCluster(LiveDecisions decisions = {})
      : decisions_(decisions),
        fabric_(LiveFabric()),
        addresses_(LiveAddresses(fabric_)),
        policy_(traffic::CreatePolicy("crux-levels", {}).value()),
        health_(fabric_.num_links(), 1.0),
        agents_(fabric_.num_hosts()) {
    Start();
  }

  TrafficController& controller() { return *controller_; }
  const TrafficController& controller() const { return *controller_; }
  const traffic::PathService& paths() const { return *paths_; }
  const topology::Fabric& fabric() const { return fabric_; }
  FakeAgent& agent(uint32_t host) { return agents_[host]; }
  const FakeAgent& agent(uint32_t host) const { return agents_[host]; }
  size_t num_hosts() const { return agents_.size(); }
  const std::map<std::string, std::string>& store() const { return store_; }
  const std::vector<Noted>& notes() const { return notes_; }
  const std::vector<QueuePairChanged>& changes() const { return changes_; }
  const std::map<uint32_t, HostJudged>& judged() const { return judged_; }
  uint64_t num_moves_of_open_sockets() const { return num_moves_of_open_sockets_; }

  double test_rate = 1e9;  // of each transfer between hosts, bytes/s

  // Kills the controller, keeps its saved records, and starts another one.
  void Restart() { Restart(decisions_); }
  // The next one decides about something else.
  void Restart(LiveDecisions decisions) {
    decisions_ = decisions;
    for (FakeAgent& agent : agents_) {
      agent.stream.reset();
      agent.unsent.clear();
    }
    ended_.clear();
    Start();
  }
  void Connect(uint32_t host) {
    FakeAgent& agent = agents_[host];
    agent.stream = StreamId(num_streams_++);
    Say(host, Hello(host));
  }
  HostHello Hello(uint32_t host) const {
    return {.protocol_version = kProtocolVersion,
            .host = fabric_.HostName(HostId(host)),
            .agent_version = "test",
            .nics = {NicAddress(host)},
            .can_test = true};
  }
  void ConnectAll() {
    for (uint32_t h = 0; h < num_hosts(); ++h) Connect(h);
  }
  void Disconnect(uint32_t host) {
    if (!agents_[host].stream) return;
    const StreamId stream = *std::exchange(agents_[host].stream, std::nullopt);
    agents_[host].unsent.clear();
    ended_.insert(stream);
    Send({StreamEnded{stream}});
  }
  void Say(uint32_t host, FromAgent message) {
    if (agents_[host].stream) Send({StreamMessage{*agents_[host].stream, std::move(message)}});
  }

  // One call of the controller; outputs are obeyed, answers wait for Settle().
  std::vector<TrafficOutput> Send(const std::vector<TrafficInput>& inputs) {
    std::vector<TrafficOutput> outputs = controller_->Handle(now_, inputs);
    history_.push_back({now_, inputs, Describe(outputs)});
    for (const TrafficOutput& output : outputs) Obey(output);
    return outputs;
  }
  std::vector<TrafficOutput> Wait(SimDuration time) {
    now_ = now_ + time;
    return Send({});
  }
  // Seconds pass, with heartbeats and answers.
  void Run(int seconds) {
    for (int s = 0; s < seconds; ++s) {
      Wait(SimDuration(1'000'000'000));
      for (uint32_t h = 0; h < num_hosts(); ++h) Say(h, Heartbeat{NumLeases(h)});
      Settle();
    }
  }
  // A restarted controller may look for ports of a path that is lost: thousands of them.
  void Settle() {
    for (int round = 0; round < 3000; ++round) {
      bool is_quiet = true;
      for (uint32_t h = 0; h < num_hosts(); ++h) {
        if (std::exchange(agents_[h].must_announce, false)) {
          Announce(h);
          is_quiet = false;
        }
        for (FromAgent& message : std::exchange(agents_[h].unsent, {})) {
          Say(h, std::move(message));
          is_quiet = false;
        }
      }
      if (is_quiet) return;
    }
    ADD_FAILURE() << "agents and controller talk for ever";
  }

  void Ask(uint32_t host, const std::string& job, uint64_t connection, uint32_t to, uint8_t protocol = 6) {
    WantedConnection wanted = {.connection = connection,
                               .source = NicAddress(host),
                               .destination = NicAddress(to),
                               .num_queue_pairs = 1,
                               .weight = 1,
                               .protocol = protocol,
                               .destination_port = 5000};
    agents_[host].held[{job, connection}] = {job, {wanted, {{}}, {0}}};
    Say(host, PathsWanted{.request = ++num_requests_, .job = job, .connections = {wanted}});
  }
  // With the port that it was answered, or any.
  void Open(uint32_t host, const std::string& job, uint64_t connection, uint16_t other_port) {
    auto& held = agents_[host].held.at({job, connection}).connection;
    const uint16_t port = held.queue_pairs[0].port != 0 ? held.queue_pairs[0].port : other_port;
    held.socket_ports[0] = port;
    held.queue_pairs[0].port = port;
    Say(host, ConnectionOpened{.job = job, .connection = connection, .queue_pair = 0, .socket_port = port});
  }
  void Close(uint32_t host, const std::string& job, uint64_t connection) {
    agents_[host].held.erase({job, connection});
    Say(host, ConnectionsClosed{.job = job, .connections = {connection}});
  }
  void SetLink(LinkId link, double health) {
    for (const LinkId one : {link, fabric_.reverse(link)}) {
      health_[one] = health;
      Send({LinkHealthReported{.link = one, .health = health, .source = "switch"}});
    }
  }
  JobMeasured Measured(uint32_t host, const std::string& job, double work) const {
    JobMeasured measured = {.job = job,
                            .num_gpus = 1,
                            .profile = {.iteration_time = Seconds(1),
                                        .compute_time = Seconds(0.5),
                                        .start_fraction = 1,
                                        .work = Flop(work),
                                        .flow_bytes = {}},
                            .connections = {}};
    for (const auto& [key, held] : agents_[host].held) {
      if (key.first != job) continue;
      measured.connections.push_back(key.second);
      measured.profile.flow_bytes.emplace_back(1e9);
    }
    return measured;
  }
  uint32_t NumLeases(uint32_t host) const {
    std::set<std::string> jobs;
    for (const auto& [key, held] : agents_[host].held) jobs.insert(key.first);
    return static_cast<uint32_t>(jobs.size());
  }
  uint16_t WirePort(uint32_t host, const std::string& job, uint64_t connection) const {
    return agents_[host].held.at({job, connection}).connection.queue_pairs[0].port;
  }
  // Law: packets that leave by this port reach the socket.
  bool IsRewritten(uint32_t host, const HeldConnection& held, uint16_t wire_port, uint16_t socket_port) const {
    if (wire_port == socket_port) return true;
    return std::ranges::any_of(agents_[HostOf(held.wanted.destination)].arrivals, [&](const auto& arrival) {
      const PrepareArrival& order = arrival.second;
      return order.source == NicAddress(host) && order.wire_port == wire_port && order.socket_port == socket_port;
    });
  }
  // The spine that the fabric hashes a packet to.
  uint32_t SpineOf(uint32_t from, uint32_t to, uint16_t port) const {
    std::vector<uint32_t> usable;
    for (uint32_t s = 0; s < 4; ++s) {
      const auto route = Route(from, to, s);
      if (std::ranges::all_of(route, [&](LinkId link) { return health_[link] > 0; })) usable.push_back(s);
    }
    if (usable.empty()) return 0;
    return usable[CombineHash(CombineHash(from, to), CombineHash(port, usable.size())) % usable.size()];
  }
  std::vector<LinkId> Route(uint32_t from, uint32_t to, uint32_t spine) const {
    const auto name = [](const char* kind, uint32_t number) { return kind + std::to_string(number); };
    const auto nic = [&](uint32_t host) { return name("h", host) + "/nic0"; };
    const std::string up = name("leaf", from / 3);
    const std::string down = name("leaf", to / 3);
    std::vector<std::string> nodes = {nic(from), up, nic(to)};
    if (up != down) nodes = {nic(from), up, name("spine", spine), down, nic(to)};
    std::vector<LinkId> links;
    for (size_t n = 1; n < nodes.size(); ++n) links.push_back(fabric_.FindLink(nodes[n - 1] + "->" + nodes[n]));
    return links;
  }

  // Reservations by job name: what a restart must bring back.
  std::map<std::tuple<std::string, uint64_t>, std::vector<LinkId>> Reservations() const {
    std::map<std::tuple<std::string, uint64_t>, std::vector<LinkId>> found;
    for (const QueuePairOnFabric& qp : controller_->QueuePairs()) found[{qp.job, qp.connection}] = qp.links;
    return found;
  }
  // Replays the input of the present controller to a new one: the output must be the same.
  void ExpectReplay() {
    auto paths = MakePaths();
    TrafficController again(fabric_, addresses_, *paths, *policy_, Options());
    ASSERT_TRUE(again.Restore(restored_).ok());
    for (const Call& call : history_) ASSERT_EQ(Describe(again.Handle(call.at, call.inputs)), call.outputs);
  }

 private:
  struct Call {
    SimTime at;
    std::vector<TrafficInput> inputs;
    std::string outputs;
  };

  TrafficControllerOptions Options() const {
    TrafficControllerOptions options;
    options.sets_levels = decisions_.levels;
    options.version = "test";
    return options;
  }
  std::unique_ptr<traffic::PathService> MakePaths() const {
    traffic::c4p::C4pOptions options;
    options.epoch_base = epoch_base_;
    options.chooses_paths = decisions_.paths;
    options.probes.max_probes_per_round = 200;
    return traffic::CreatePathService(fabric_, options);
  }
  void Start() {
    epoch_base_ += uint64_t{1} << 32;
    restored_.assign(store_.begin(), store_.end());
    controller_.reset();
    paths_ = MakePaths();
    controller_ = std::make_unique<TrafficController>(fabric_, addresses_, *paths_, *policy_, Options());
    EXPECT_TRUE(controller_->Restore(restored_).ok());
    history_.clear();
  }
  // Kind, stream and the numbers that matter.
  static std::string Describe(const std::vector<TrafficOutput>& outputs) {
    std::string text;
    for (const TrafficOutput& output : outputs) {
      text += std::to_string(output.index()) + ":";
      if (const auto* sent = std::get_if<SendToStream>(&output)) {
        text += std::to_string(sent->stream.value()) + "," + std::to_string(sent->message.index());
        if (const auto* p = std::get_if<PrepareArrival>(&sent->message)) text += "," + std::to_string(p->wire_port);
        if (const auto* l = std::get_if<LevelSet>(&sent->message)) text += l->job + std::to_string(l->level);
        if (const auto* c = std::get_if<PathsChanged>(&sent->message)) {
          for (const QueuePairChanged& one : c->changes) {
            text += "," + std::to_string(one.connection) + "/" + std::to_string(one.answer.port);
          }
        }
      }
      if (const auto* record = std::get_if<RecordChanged>(&output)) text += record->key + record->value.value_or("-");
      if (const auto* noted = std::get_if<Noted>(&output)) text += noted->subject + noted->text;
      text += ";";
    }
    return text;
  }

  void Obey(const TrafficOutput& output) {
    if (const auto* record = std::get_if<RecordChanged>(&output)) {
      if (record->value) store_[record->key] = *record->value;
      if (!record->value) store_.erase(record->key);
    } else if (const auto* ended = std::get_if<EndStream>(&output)) {
      ended_.insert(ended->stream);
      for (FakeAgent& agent : agents_) {
        if (agent.stream == ended->stream) agent.stream.reset();
      }
    } else if (const auto* noted = std::get_if<Noted>(&output)) {
      notes_.push_back(*noted);
    } else if (const auto* sent = std::get_if<SendToStream>(&output)) {
      EXPECT_FALSE(ended_.contains(sent->stream)) << "said to an ended stream";
      for (uint32_t h = 0; h < num_hosts(); ++h) {
        if (agents_[h].stream == sent->stream)
          std::visit([&](const auto& message) { Hear(h, message); }, sent->message);
      }
    }
  }
  void Hear(uint32_t, const Welcome&) {}
  void Hear(uint32_t h, const HostJudged& judged) { judged_[h] = judged; }
  void Hear(uint32_t h, const HostTestWanted& wanted) {
    if (wanted.kind == HostTestKind::kReceive) {
      agents_[h].unsent.emplace_back(HostTestReady{.test = wanted.test, .port = 4000});
    }
    HostTestDone done;
    done.test = wanted.test;
    done.rate = test_rate;
    agents_[h].unsent.emplace_back(std::move(done));
  }
  void Hear(uint32_t, const HostTestsCancelled&) {}
  void Hear(uint32_t host, const Refused& message) { ADD_FAILURE() << host << " refused: " << message.reason; }
  void Hear(uint32_t host, const PathsAnswered& message) {
    for (const traffic::ConnectionAnswer& answer : message.connections) {
      const auto held = agents_[host].held.find({message.job, answer.connection});
      if (held == agents_[host].held.end()) continue;
      auto& paths = held->second.connection.queue_pairs;
      for (size_t q = 0; q < answer.queue_pairs.size() && q < paths.size(); ++q) Take(answer.queue_pairs[q], &paths[q]);
    }
    agents_[host].levels[message.job] = message.level;
  }
  static void Take(const traffic::QueuePairAnswer& answer, traffic::HeldPath* held) {
    *held = {.is_managed = answer.kind != traffic::QueuePairAnswer::Kind::kUnmanaged,
             .plane = answer.plane,
             .path = answer.path,
             .port = answer.port};
  }
  void Hear(uint32_t host, const PathsChanged& message) {
    for (const QueuePairChanged& change : message.changes) {
      changes_.push_back(change);
      const auto found = agents_[host].held.find({change.job, change.connection});
      if (found == agents_[host].held.end()) continue;
      HeldConnection& held = found->second.connection;
      const uint16_t socket_port = held.socket_ports[change.queue_pair];
      const uint16_t port_before = held.queue_pairs[change.queue_pair].port;
      const bool is_open_tcp = held.wanted.protocol == 6 && socket_port != 0;
      if (is_open_tcp && !change.is_prepared) continue;
      const bool is_move = is_open_tcp && change.answer.port != port_before;
      if (is_move && agents_[host].moves_to_refuse > 0) {
        --agents_[host].moves_to_refuse;
        ++agents_[host].num_refused;
        if (agents_[host].loses_refusals) continue;
        agents_[host].unsent.emplace_back(
            MoveRefused{change.job, change.connection, change.queue_pair, change.answer.port, port_before, "taken"});
        continue;
      }
      Take(change.answer, &held.queue_pairs[change.queue_pair]);
      if (!is_move) continue;
      ++num_moves_of_open_sockets_;
      EXPECT_TRUE(IsRewritten(host, held, change.answer.port, socket_port)) << "an unprepared arrival";
    }
  }
  void Hear(uint32_t host, const ProbesWanted& message) {
    ProbesFinished answer = {.round = message.round, .scans = {}};
    for (const PortScanWanted& scan : message.scans) {
      const uint32_t to = HostOf(scan.destination);
      PortScanSeen seen = NothingSeenOf(scan);
      for (const uint16_t port : scan.source_ports) {
        std::vector<LinkId> route = Route(host, to, SpineOf(host, to, port));
        const bool is_lost = std::ranges::any_of(route, [&](LinkId link) { return health_[link] == 0; });
        route.pop_back();
        ProbedRoute probed = {.hops = {},
                              .sent = 1,
                              .lost = is_lost ? uint64_t{1} : uint64_t{0},
                              .rtt = Seconds(1e-4),
                              .source_ports = {port}};
        for (const LinkId link : route) probed.hops.push_back(is_lost ? IpAddress() : InterfaceAddress(link));
        AddRoute(std::move(probed), &seen);
      }
      answer.scans.push_back(std::move(seen));
    }
    agents_[host].unsent.emplace_back(std::move(answer));
  }
  void Hear(uint32_t host, const PrepareArrival& message) {
    FakeAgent& agent = agents_[host];
    if (agent.arrival_error.empty()) agent.arrivals[message.alias] = message;
    if (agent.answers_arrivals) agent.unsent.emplace_back(ArrivalPrepared{message.alias, agent.arrival_error});
  }
  void Hear(uint32_t host, const ForgetArrival& message) { agents_[host].arrivals.erase(message.alias); }
  void Hear(uint32_t host, const AnnouncementWanted&) { agents_[host].must_announce = true; }
  // What it holds when it says so, not when it was asked. A port that is the socket's own is none that was steered to.
  void Announce(uint32_t host) {
    std::map<std::string, ConnectionsHeld> jobs;
    for (const auto& [key, held] : agents_[host].held) {
      jobs[key.first].job = key.first;
      HeldConnection& announced = jobs[key.first].connections.emplace_back(held.connection);
      if (announced.socket_ports[0] == announced.queue_pairs[0].port && agents_[host].num_refused > 0)
        announced.queue_pairs[0].port = 0;
    }
    for (auto& [job, held] : jobs) Say(host, std::move(held));
    Say(host, AnnouncementFinished{});
  }
  void Hear(uint32_t host, const LevelSet& message) { agents_[host].levels[message.job] = message.level; }

  LiveDecisions decisions_;
  const topology::Fabric fabric_;
  const topology::AddressBook addresses_;
  const std::unique_ptr<traffic::TrafficPolicy> policy_;
  topology::LinkHealth health_;  // the truth
  std::vector<FakeAgent> agents_;
  std::unique_ptr<traffic::PathService> paths_;
  std::unique_ptr<TrafficController> controller_;
  uint64_t epoch_base_ = 0;
  SimTime now_ = SimTime(1'000'000'000'000);
  std::map<std::string, std::string> store_;
  std::vector<std::pair<std::string, std::string>> restored_;
  std::vector<Call> history_;
  std::set<StreamId> ended_;
  std::vector<Noted> notes_;
  std::vector<QueuePairChanged> changes_;
  std::map<uint32_t, HostJudged> judged_;  // as last sent to each agent
  uint64_t num_moves_of_open_sockets_ = 0;
  uint32_t num_streams_ = 0;
  uint64_t num_requests_ = 0;
};

}  // namespace fairlead::controller
