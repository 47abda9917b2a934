#include "agent/connection_table.h"

#include <algorithm>
#include <utility>

namespace fairlead::agent {

namespace {

constexpr uint64_t kNumberMask = (uint64_t{1} << 53) - 1;

}  // namespace

void ConnectionTable::Restore(std::span<const KeptConnection> kept) {
  for (const KeptConnection& connection : kept) {
    const uint64_t number = connection.wanted.connection;
    const auto [entry, is_new] = connections_.try_emplace(number);
    if (!is_new) continue;
    entry->second = {.kept = connection, .stage = Connection::Stage::kOpen, .since = outbox_.now()};
    jobs_[connection.job].insert(number);
    if (connection.inode != 0) by_socket_[{connection.wanted.pid, connection.inode}] = number;
  }
}

std::vector<KeptConnection> ConnectionTable::State() const {
  std::vector<KeptConnection> kept;
  for (const auto& [number, connection] : connections_) {
    if (connection.stage == Connection::Stage::kOpen) kept.push_back(connection.kept);
  }
  return kept;
}

uint64_t ConnectionTable::NewNumber() {
  for (;;) {
    const uint64_t number = random_() & kNumberMask;
    if (number != 0 && !connections_.contains(number)) return number;
  }
}

const ConnectionTable::Connection& ConnectionTable::Add(KeptConnection kept) {
  const uint64_t number = NewNumber();
  kept.wanted.connection = number;
  jobs_[kept.job].insert(number);
  if (kept.inode != 0) by_socket_[{kept.wanted.pid, kept.inode}] = number;
  Connection connection = {.kept = std::move(kept), .since = outbox_.now()};
  return connections_.emplace(number, std::move(connection)).first->second;
}

void ConnectionTable::Open(uint64_t number, uint16_t socket_port) {
  Connection& connection = connections_.at(number);
  connection.stage = Connection::Stage::kOpen;
  connection.since = outbox_.now();
  connection.kept.socket_port = socket_port;
  connection.kept.wire_port = socket_port;
  outbox_.Change();
}

void ConnectionTable::SetUnclear(uint64_t number) {
  Connection& connection = connections_.at(number);
  connection.stage = Connection::Stage::kUnclear;
  connection.since = outbox_.now();
}

bool ConnectionTable::SetPlan(uint64_t number, const traffic::QueuePairAnswer& plan) {
  KeptConnection& kept = connections_.at(number).kept;
  kept.answer = plan;
  outbox_.Change();
  return !std::exchange(kept.is_answered, true);
}

void ConnectionTable::SetWirePort(uint64_t number, uint16_t port) {
  connections_.at(number).kept.wire_port = port;
  outbox_.Change();
}

void ConnectionTable::Remove(uint64_t number) {
  const auto found = connections_.find(number);
  const KeptConnection& kept = found->second.kept;
  const auto by_socket = by_socket_.find({kept.wanted.pid, kept.inode});
  if (by_socket != by_socket_.end() && by_socket->second == number) by_socket_.erase(by_socket);
  const auto job = jobs_.find(kept.job);
  job->second.erase(number);
  if (job->second.empty()) jobs_.erase(job);
  connections_.erase(found);
  outbox_.Change();
}

const ConnectionTable::Connection* ConnectionTable::Find(uint64_t number) const {
  const auto found = connections_.find(number);
  return found == connections_.end() ? nullptr : &found->second;
}

const ConnectionTable::Connection* ConnectionTable::FindSocket(int32_t pid, uint64_t inode) const {
  const auto found = by_socket_.find({pid, inode});
  return found == by_socket_.end() ? nullptr : &connections_.at(found->second);
}

uint32_t ConnectionTable::NumAnsweredJobs() const {
  return static_cast<uint32_t>(std::ranges::count_if(jobs_, [this](const auto& job) {
    return std::ranges::any_of(job.second, [this](uint64_t number) { return at(number).kept.is_answered; });
  }));
}

std::vector<SocketPair> ConnectionTable::OpenSockets() const {
  std::vector<SocketPair> sockets;
  for (const auto& [number, connection] : connections_) {
    if (connection.has_open_socket()) sockets.push_back(EndsOf(connection.kept));
  }
  return sockets;
}

}  // namespace fairlead::agent
