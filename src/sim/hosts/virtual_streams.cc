#include "sim/hosts/virtual_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace fairlead::sim::hosts {

using controller::StreamId;

namespace {

constexpr int64_t kRetryMs = 500;
constexpr int64_t kBrokenMs = 3000;  // until a side notices that the other one is silent
constexpr int64_t kResetMs = 100;    // until it is told by the other side's kernel

// For the log: what a message is, and about which connections.
struct Describe {
  std::string operator()(const controller::HostHello&) const { return "hello"; }
  std::string operator()(const controller::Heartbeat& m) const {
    return fmt::format("heartbeat, {} leases", m.num_leases);
  }
  std::string operator()(const controller::PathsWanted& m) const {
    return fmt::format("{}: {} paths wanted{}", m.job, m.connections.size(), First(m.connections));
  }
  std::string operator()(const controller::ConnectionOpened& m) const {
    return fmt::format("{} {:x} opened with port {}", m.job, m.connection, m.socket_port);
  }
  std::string operator()(const controller::ConnectionsClosed& m) const {
    return fmt::format("{}: {} closed", m.job, m.connections.size());
  }
  std::string operator()(const controller::ConnectionsHeld& m) const {
    std::string text = m.job + ": held";
    for (const controller::HeldConnection& held : m.connections) {
      text +=
          fmt::format(" {:x} ({}, {})", held.wanted.connection, held.socket_ports.at(0), held.queue_pairs.at(0).port);
    }
    return text;
  }
  std::string operator()(const controller::ProbesFinished& m) const { return fmt::format("{} probed", m.scans.size()); }
  std::string operator()(const controller::ArrivalPrepared& m) const {
    return fmt::format("arrival {:x} prepared {}", m.alias, m.error);
  }
  std::string operator()(const controller::MoveRefused& m) const {
    return fmt::format("{} {:x} stays on port {}, not {}", m.job, m.connection, m.wire_port, m.port);
  }
  std::string operator()(const controller::JobMeasured& m) const {
    double bytes = 0;
    for (const Bytes sent : m.profile.flow_bytes) bytes += sent.value();
    return fmt::format("{} measured: {:.3f} s, {:.3e} FLOP, {:.3e} bytes of {}", m.job,
                       m.profile.iteration_time.value(), m.profile.work.value(), bytes, m.connections.size());
  }
  std::string operator()(const controller::AnnouncementFinished&) const { return "that is all"; }
  std::string operator()(const controller::ProcessesSeen& m) const { return m.job + ": processes"; }
  std::string operator()(const controller::HostTestReady& m) const {
    return fmt::format("test {} listens on {}", m.test, m.port);
  }
  std::string operator()(const controller::HostTestDone& m) const {
    return fmt::format("test {} done: {:.3e} bytes/s {}", m.test, m.rate, m.error);
  }
  std::string operator()(const controller::Welcome&) const { return "welcome"; }
  std::string operator()(const controller::Refused& m) const { return "refused: " + m.reason; }
  std::string operator()(const controller::PathsAnswered& m) const {
    std::string text = m.job + ": answer";
    for (const traffic::ConnectionAnswer& answer : m.connections) {
      text += fmt::format(" {:x}", answer.connection);
      for (const traffic::QueuePairAnswer& pair : answer.queue_pairs) {
        text += fmt::format(" {} {}", traffic::Name(pair.kind), pair.port);
      }
    }
    return text;
  }
  std::string operator()(const controller::PathsChanged& m) const {
    std::string text = "changed";
    for (const controller::QueuePairChanged& change : m.changes) {
      text += fmt::format(" {} {:x} {} {}{}", change.job, change.connection, traffic::Name(change.answer.kind),
                          change.answer.port, change.is_prepared ? "" : " unprepared");
    }
    return text;
  }
  std::string operator()(const controller::ProbesWanted& m) const { return fmt::format("probe {}", m.scans.size()); }
  std::string operator()(const controller::PrepareArrival& m) const {
    return fmt::format("prepare arrival {:x} of port {} as {}", m.alias, m.wire_port, m.socket_port);
  }
  std::string operator()(const controller::ForgetArrival& m) const {
    return fmt::format("forget arrival {:x}", m.alias);
  }
  std::string operator()(const controller::AnnouncementWanted&) const { return "announce"; }
  std::string operator()(const controller::LevelSet& m) const { return fmt::format("{} on level {}", m.job, m.level); }
  std::string operator()(const controller::HostJudged&) const { return "judged"; }
  std::string operator()(const controller::HostTestWanted& m) const { return fmt::format("test {}", m.test); }
  std::string operator()(const controller::HostTestsCancelled&) const { return "no more tests"; }

 private:
  static std::string First(const std::vector<controller::WantedConnection>& connections) {
    return connections.empty() ? "" : fmt::format(" {:x}", connections.front().connection);
  }
};

}  // namespace

VirtualStreams::VirtualStreams(EventQueue* queue, uint64_t seed, Sabotage sabotage,
                               std::span<const std::unique_ptr<VirtualAgent>> agents, VirtualController* controller)
    : queue_(queue),
      random_(seed),
      sabotage_(sabotage),
      agents_(agents),
      controller_(controller),
      of_host_(agents.size()),
      slowness_(agents.size(), 1) {}

bool VirtualStreams::IsOfAgent(const Stream& stream) const {
  const VirtualAgent& agent = *agents_[stream.host];
  return agent.is_alive() && agent.incarnation() == stream.agent;
}

bool VirtualStreams::IsOfController(const Stream& stream) const {
  return controller_->is_alive() && controller_->incarnation() == stream.controller;
}

SimDuration VirtualStreams::Delay(uint32_t host) {
  const int64_t usual_us = 50 + static_cast<int64_t>(random_.Below(random_.Below(50) == 0 ? 20'000 : 500));
  return SimDuration(usual_us * 1000 * slowness_[host]);
}

void VirtualStreams::Connect(uint32_t host) {
  queue_->After(Below(kRetryMs), [this, host, agent = agents_[host]->incarnation()] { TryToConnect(host, agent); });
}

void VirtualStreams::TryToConnect(uint32_t host, uint64_t agent) {
  const VirtualAgent& process = *agents_[host];
  if (!process.is_alive() || process.incarnation() != agent || of_host_[host].has_value()) return;
  if (!process.is_running() || !controller_->is_running()) return Connect(host);
  const StreamId id(streams_.size());
  const SimTime now = queue_->now();
  streams_.push_back({.host = host,
                      .agent = agent,
                      .controller = controller_->incarnation(),
                      .is_broken = false,
                      .has_ended = false,
                      .up_at = now,
                      .down_at = now});
  of_host_[host] = id;
  agents_[host]->Deliver(agent::StreamOpened{});
}

void VirtualStreams::Send(uint32_t host, controller::FromAgent message) {
  const std::optional<StreamId> id = of_host_[host];
  if (!id.has_value()) return;
  if (sabotage_ == Sabotage::kLostHeartbeats && std::holds_alternative<controller::Heartbeat>(message)) return;
  if (sabotage_ == Sabotage::kLostOpenings && std::holds_alternative<controller::ConnectionOpened>(message)) return;
  if (sabotage_ == Sabotage::kLostClosings && std::holds_alternative<controller::ConnectionsClosed>(message)) return;
  auto* held = std::get_if<controller::ConnectionsHeld>(&message);
  if (sabotage_ == Sabotage::kSilentAnnouncement && held != nullptr && held->connections.size() > 1) {
    held->connections.pop_back();
  }
  Stream& stream = streams_[id->index()];
  stream.up_at = std::max(stream.up_at, queue_->now() + Delay(host));
  queue_->At(stream.up_at, [this, id = *id, message = std::move(message)] {
    const Stream& on = streams_[id.index()];
    if (on.is_broken || on.has_ended || !IsOfController(on)) return;
    queue_->Log([&] { return fmt::format("h{} says: {}", on.host, std::visit(Describe(), message)); });
    controller_->Deliver(controller::StreamMessage{id, message});
  });
}

void VirtualStreams::Send(StreamId id, controller::ToAgent message) {
  Stream& stream = streams_[id.index()];
  if (sabotage_ == Sabotage::kUnpreparedMoves) {
    // The controller is made to believe that the destination is prepared, which never hears of it.
    if (const auto* order = std::get_if<controller::PrepareArrival>(&message)) {
      queue_->After(Delay(stream.host), [this, id, alias = order->alias] {
        if (!streams_[id.index()].has_ended && IsOfController(streams_[id.index()])) {
          controller_->Deliver(controller::StreamMessage{id, controller::ArrivalPrepared{.alias = alias, .error = ""}});
        }
      });
      return;
    }
  }
  stream.down_at = std::max(stream.down_at, queue_->now() + Delay(stream.host));
  queue_->At(stream.down_at, [this, id, message = std::move(message)] { DeliverDown(id, message); });
}

void VirtualStreams::DeliverDown(StreamId id, const controller::ToAgent& message) {
  const Stream& stream = streams_[id.index()];
  const bool is_current = IsOfAgent(stream) && of_host_[stream.host] == id && !stream.is_broken;
  if (!is_current) return;
  if (sabotage_ == Sabotage::kLostLevels && std::holds_alternative<controller::LevelSet>(message)) return;
  queue_->Log([&] { return fmt::format("h{} hears: {}", stream.host, std::visit(Describe(), message)); });
  agents_[stream.host]->Deliver(agent::MessageFromController{message});
}

void VirtualStreams::EndAtAgent(StreamId id, SimDuration after) {
  queue_->After(after, [this, id] {
    const Stream& stream = streams_[id.index()];
    if (!IsOfAgent(stream) || of_host_[stream.host] != id) return;
    of_host_[stream.host].reset();
    agents_[stream.host]->Deliver(agent::StreamBroken{});
    Connect(stream.host);
  });
}

void VirtualStreams::EndAtController(StreamId id, SimDuration after) {
  queue_->After(after, [this, id] {
    Stream& stream = streams_[id.index()];
    if (!IsOfController(stream) || std::exchange(stream.has_ended, true)) return;
    controller_->Deliver(controller::StreamEnded{id});
  });
}

void VirtualStreams::Break(StreamId id, SimDuration agent_learns_after, SimDuration controller_learns_after) {
  if (std::exchange(streams_[id.index()].is_broken, true)) return;
  EndAtAgent(id, agent_learns_after);
  EndAtController(id, controller_learns_after);
}

void VirtualStreams::Break(uint32_t host) {
  if (of_host_[host].has_value()) Break(*of_host_[host], Below(kBrokenMs), Below(kBrokenMs));
}

void VirtualStreams::AgentDied(uint32_t host) {
  const std::optional<StreamId> id = std::exchange(of_host_[host], std::nullopt);
  if (id.has_value()) Break(*id, SimDuration(), Below(kResetMs));
}

void VirtualStreams::ControllerDied() {
  for (const std::optional<StreamId> id : of_host_) {
    if (id.has_value()) Break(*id, Below(kResetMs), SimDuration());
  }
}

void VirtualStreams::EndByController(StreamId id) {
  const SimDuration after = std::max(streams_[id.index()].down_at, queue_->now()) - queue_->now();
  EndAtAgent(id, after + Delay(streams_[id.index()].host));
  EndAtController(id, after + Delay(streams_[id.index()].host));
}

}  // namespace fairlead::sim::hosts
