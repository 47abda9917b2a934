// A small fabric that hashes, and agents that do as the master says, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "topology/rail_fabric.h"
#include "traffic/c4p/c4p_master.h"

namespace fairlead::traffic::c4p {

// Two segments of hosts with two NICs of two ports, 8 leaves, 4 spines per plane: 4 paths between any two leaves.
inline topology::Fabric MasterFabric(uint32_t hosts = 4, uint32_t spines = 4, uint32_t ports = 2) {
  topology::RailSpec spec;
  spec.segments = 2;
  spec.hosts_per_segment = hosts;
  spec.spines = spines;
  spec.host.gpus = 2;
  spec.host.nics = 2;
  spec.host.pcie_switches = 2;
  spec.host.ports_per_nic = ports;
  return topology::BuildRail(spec).value();
}

inline SimDuration SecondsOf(int64_t s) { return SimDuration(s * 1'000'000'000); }

inline PathEvent Report(LinkId link, double health) {
  return LinkReported{.link = link, .health = health, .source = "switch"};
}

// The world outside of a master: what the fabric does with packets, and what the agents hold.
class World {
 public:
  explicit World(const topology::Fabric& fabric, uint64_t epoch_base = 1) : fabric_(fabric), truth_(fabric) {
    Restart(epoch_base);
  }

  C4pMaster& master() { return *master_; }
  const topology::Fabric& fabric() const { return fabric_; }
  PathCatalogue& truth() { return truth_; }
  SimTime now() const { return now_; }
  // Input of the present master, with its time.
  const std::vector<std::pair<SimTime, std::vector<PathEvent>>>& history() const { return history_; }
  const C4pOptions& options() const { return options_; }
  const std::vector<PathMove>& moves() const { return moves_; }
  const std::set<HostId>& asked_to_announce() const { return asked_to_announce_; }
  std::vector<PathAction> TakeActions() { return std::exchange(actions_, {}); }

  NicId Nic(uint32_t host, uint32_t nic = 0) const { return fabric_.nic(HostId(host), nic); }
  ConnectionRequest Connection(uint64_t name, uint32_t from, uint32_t to, uint32_t num_queue_pairs = 2) const {
    return {.connection = name, .source = Nic(from), .destination = Nic(to), .num_queue_pairs = num_queue_pairs};
  }

  // A new master that knows nothing.
  void Restart(uint64_t epoch_base) {
    options_.epoch_base = epoch_base;
    options_.probes.max_probes_per_round = 2000;
    master_.emplace(fabric_, options_);
    history_.clear();
    told_.clear();  // it compares what holders announce
  }

  // One call, and what the agents make of it.
  void Send(std::vector<PathEvent> events) {
    std::vector<PathAction> actions = master_->Handle(now_, events);
    history_.emplace_back(now_, std::move(events));
    for (const PathAction& action : actions) Obey(action);
    actions_.insert(actions_.end(), std::make_move_iterator(actions.begin()), std::make_move_iterator(actions.end()));
  }
  void Wait(SimDuration time, std::vector<PathEvent> events = {}) {
    now_ = now_ + time;
    Send(std::move(events));
  }
  // Answers scans until none is requested.
  void Settle() {
    for (int round = 0; round < 1000 && !scans_.empty(); ++round) Send(AnswerScans());
    EXPECT_TRUE(scans_.empty());
  }
  std::vector<PathEvent> AnswerScans() {
    std::vector<PathEvent> answers;
    for (const PortScan& scan : std::exchange(scans_, {})) {
      answers.emplace_back(PortsScanned{{Probe(scan, scan.ports, 1)}});
    }
    return answers;
  }
  void LoseScans() { scans_.clear(); }
  size_t num_scans() const { return scans_.size(); }

  void Ask(uint32_t host, uint32_t job, std::vector<ConnectionRequest> connections) {
    Send({Request(host, job, std::move(connections))});
  }
  PathEvent Request(uint32_t host, uint32_t job, std::vector<ConnectionRequest> connections) {
    for (const ConnectionRequest& c : connections) requested_[{JobId(job), c.connection}] = c;
    return PathsRequested{
        .request = ++num_requests_, .host = HostId(host), .job = JobId(job), .connections = std::move(connections)};
  }
  PathEvent Heartbeat(uint32_t host) const {
    uint32_t num_leases = 0;
    for (const auto& [lease, held] : held_) num_leases += lease.host == HostId(host) ? 1 : 0;
    return LeasesRenewed{.host = HostId(host), .num_leases = num_leases, .jobs = std::nullopt};
  }
  std::vector<PathEvent> Heartbeats() const {
    std::vector<PathEvent> events;
    for (uint32_t h = 0; h < fabric_.num_hosts(); ++h) events.push_back(Heartbeat(h));
    return events;
  }
  // What an agent would say of a lease that it holds.
  PathEvent Announcement(LeaseId lease) const {
    LeasesAnnounced announced{.host = lease.host, .job = lease.job, .connections = {}};
    for (const auto& [name, held] : held_.at(lease)) announced.connections.push_back(held);
    return announced;
  }
  std::vector<PathEvent> Announcements() const {
    std::vector<PathEvent> events;
    for (const auto& [lease, held] : held_) events.push_back(Announcement(lease));
    return events;
  }
  void Release(LeaseId lease, const std::vector<uint64_t>& connections) {
    Send({ConnectionsReleased{.host = lease.host, .job = lease.job, .connections = connections}});
    if (connections.empty()) held_.erase(lease);
    for (const uint64_t name : connections) {
      if (held_.contains(lease)) held_[lease].erase(name);
    }
    if (held_.contains(lease) && held_[lease].empty()) held_.erase(lease);
  }

  // Changes both directions of a cable. Returns what a switch would say of it.
  std::vector<PathEvent> SetCable(LinkId link, double health) {
    for (const LinkId l : {link, fabric_.reverse(link)}) truth_.SetHealth(l, health);
    return {Report(link, health), Report(fabric_.reverse(link), health)};
  }

  const std::map<LeaseId, std::map<uint64_t, HeldConnection>>& held() const { return held_; }
  const HeldPath& HeldBy(LeaseId lease, uint64_t connection, uint32_t queue_pair) const {
    return held_.at(lease).at(connection).queue_pairs[queue_pair];
  }
  // Where the fabric sends a packet; nothing when it has no way.
  std::optional<uint32_t> PathOf(const ConnectionRequest& c, uint32_t plane, uint16_t port) {
    const NodeId from = truth_.ports(c.source)[plane].leaf;
    const NodeId to = truth_.ports(c.destination)[plane].leaf;
    const LeafPaths& paths = truth_.Paths(from, to);
    std::vector<uint32_t> usable;
    uint64_t salt = 7;
    for (uint32_t i = 0; i < paths.num_paths; ++i) {
      if (!truth_.IsUsable(paths.path(i))) continue;
      usable.push_back(i);
      salt = CombineHash(salt, i);
    }
    if (usable.empty()) return std::nullopt;
    const uint64_t hash = CombineHash(CombineHash(c.source.value(), c.destination.value()), CombineHash(port, plane));
    return usable[CombineHash(hash, salt) % usable.size()];
  }
  // The route of a path, from port to port.
  std::vector<LinkId> Route(const ConnectionRequest& c, uint32_t plane, uint32_t path) {
    const NicPort from = truth_.ports(c.source)[plane];
    const NicPort to = truth_.ports(c.destination)[plane];
    std::vector<LinkId> route = {from.up};
    const auto middle = truth_.Paths(from.leaf, to.leaf).path(path);
    route.insert(route.end(), middle.begin(), middle.end());
    route.push_back(to.down);
    return route;
  }
  // The report of an agent about these ports; each has its own route.
  PortScanSeen Probe(const PortScan& scan, const std::vector<uint16_t>& ports, uint64_t packets) {
    const ConnectionRequest c = {.source = scan.source, .destination = scan.destination};
    PortScanSeen seen = {.source = scan.source,
                         .destination = scan.destination,
                         .plane = scan.plane,
                         .protocol = scan.protocol,
                         .destination_port = scan.destination_port,
                         .epoch = scan.epoch,
                         .routes = {}};
    for (const uint16_t port : ports) {
      ProbedRoute& route = seen.routes.emplace_back(
          ProbedRoute{.links = {}, .sent = packets, .lost = 0, .rtt = Seconds(0), .ports = {port}});
      const auto path = PathOf(c, scan.plane, port);
      if (path) route.links = Route(c, scan.plane, *path);
      if (!path || !truth_.IsUsable(route.links)) route.lost = packets;
    }
    return seen;
  }

  // Every QP that was assigned a port arrives by its assigned path, on its plane, and none shares its port.
  void ExpectTrueAnswers() {
    std::set<std::tuple<NicId, NicId, uint32_t, uint16_t>> ports;
    for (const auto& [lease, connections] : held_) {
      for (const auto& [name, held] : connections) {
        const auto answer = master_->Find(lease.job, name);
        ASSERT_TRUE(answer.has_value());
        for (uint32_t q = 0; q < held.queue_pairs.size(); ++q) {
          const QueuePairAnswer& ours = answer->queue_pairs[q];
          const HeldPath& theirs = held.queue_pairs[q];
          ASSERT_EQ(theirs.is_managed, ours.kind != QueuePairAnswer::Kind::kUnmanaged);
          if (!theirs.is_managed) continue;
          EXPECT_EQ(theirs.path, ours.path);
          EXPECT_EQ(theirs.plane, ours.plane);
          EXPECT_EQ(theirs.port, ours.port);
          if (theirs.port != 0) {
            EXPECT_TRUE(ports.emplace(held.request.source, held.request.destination, theirs.plane, theirs.port).second);
          }
          if (ours.kind != QueuePairAnswer::Kind::kUse) continue;
          const auto told = told_.find({lease.job, name});
          const bool waits = told != told_.end() && told->second.at(q) == QueuePairAnswer::Kind::kScan;
          EXPECT_FALSE(waits) << "its holder waits for a port";
          EXPECT_EQ(PathOf(held.request, theirs.plane, theirs.port), theirs.path);
        }
      }
    }
  }

 private:
  void Obey(const PathAction& action) {
    if (const auto* granted = std::get_if<PathsGranted>(&action)) {
      for (const ConnectionAnswer& answer : granted->connections) {
        if (answer.queue_pairs.empty()) continue;
        HeldConnection& held = held_[granted->lease][answer.connection];
        held.request = requested_.at({granted->lease.job, answer.connection});
        held.queue_pairs.resize(answer.queue_pairs.size());
        for (size_t q = 0; q < held.queue_pairs.size(); ++q) Take(answer.queue_pairs[q], &held.queue_pairs[q]);
        auto& told = told_[{granted->lease.job, answer.connection}];
        told.clear();
        for (const QueuePairAnswer& one : answer.queue_pairs) told.push_back(one.kind);
      }
    } else if (const auto* moved = std::get_if<PathsMoved>(&action)) {
      for (const PathMove& move : moved->moves) {
        moves_.push_back(move);
        const auto lease = held_.find({moved->host, move.job});
        if (lease == held_.end() || !lease->second.contains(move.connection)) continue;
        Take(move.answer, &lease->second[move.connection].queue_pairs[move.queue_pair]);
        auto& told = told_[{move.job, move.connection}];
        told.resize(lease->second[move.connection].queue_pairs.size());
        told[move.queue_pair] = move.answer.kind;
      }
    } else if (const auto* scan = std::get_if<ScanPorts>(&action)) {
      scans_.insert(scans_.end(), scan->scans.begin(), scan->scans.end());
    } else if (const auto* expired = std::get_if<LeaseExpired>(&action)) {
      held_.erase(expired->lease);
    } else if (const auto* wanted = std::get_if<AnnouncementWanted>(&action)) {
      asked_to_announce_.insert(wanted->host);
    }
  }
  static void Take(const QueuePairAnswer& answer, HeldPath* held) {
    const bool is_managed = answer.kind != QueuePairAnswer::Kind::kUnmanaged;
    *held = {.is_managed = is_managed, .plane = answer.plane, .path = answer.path, .port = answer.port};
  }

  const topology::Fabric& fabric_;
  PathCatalogue truth_;
  std::optional<C4pMaster> master_;
  SimTime now_ = SimTime(1'000'000'000'000);
  C4pOptions options_;
  std::vector<std::pair<SimTime, std::vector<PathEvent>>> history_;
  std::vector<PathAction> actions_;
  std::vector<PathMove> moves_;
  std::vector<PortScan> scans_;
  std::set<HostId> asked_to_announce_;
  std::map<std::pair<JobId, uint64_t>, ConnectionRequest> requested_;
  std::map<LeaseId, std::map<uint64_t, HeldConnection>> held_;
  std::map<std::pair<JobId, uint64_t>, std::vector<QueuePairAnswer::Kind>> told_;  // [queue pair]
  uint64_t num_requests_ = 0;
};

inline LeaseId LeaseOf(uint32_t host, uint32_t job) { return {HostId(host), JobId(job)}; }

// All actions of one kind.
template <class T>
std::vector<T> Only(const std::vector<PathAction>& actions) {
  std::vector<T> found;
  for (const PathAction& action : actions) {
    if (const auto* one = std::get_if<T>(&action)) found.push_back(*one);
  }
  return found;
}

}  // namespace fairlead::traffic::c4p
