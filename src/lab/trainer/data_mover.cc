#include "lab/trainer/data_mover.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

namespace fairlead::lab {

namespace {

// In seconds: a signal that comes just before a sleep is seen after it.
constexpr double kLongestSleep = 0.1;
constexpr size_t kBufferBytes = 262'144;
constexpr int kNotWatched = -1;

}  // namespace

DataMover::DataMover(const TrainerPlan& plan, const PhaseOrder& order, Connections connections,
                     CollectiveObserver* observer)
    : plan_(plan),
      order_(order),
      connections_(std::move(connections)),
      shares_(connections_.size(), false),
      senders_(connections_.size()),
      receivers_(connections_.size()),
      buffer_(kBufferBytes, 'x'),
      poller_(epoll_create1(EPOLL_CLOEXEC)),
      watched_(connections_.size(), kNotWatched) {
  PrepareSharing();
  if (observer != nullptr) messages_.emplace(plan_, connections_, observer);
}

// Connections of pools have room for two chunks, so that the next ones go where chunks arrive. More is under way when
// the pool is empty, and the slowest queue pair's part of it decides when the phase is over.
void DataMover::PrepareSharing() {
  std::vector<uint64_t> chunk(connections_.size(), 0);
  for (const PhasePlan& phase : plan_.phases) {
    for (const StreamPlan& stream : phase.streams) {
      if (!stream.pools) continue;
      for (const TransferPlan& transfer : stream.receives) shares_[transfer.connection] = true;
      for (const Pool& pool : PoolsOf(plan_.connections, stream.sends, true)) {
        const uint64_t bytes = ChunkBytes(pool.bytes, static_cast<uint32_t>(pool.connections.size()));
        for (const uint32_t c : pool.connections) chunk[c] = std::max(chunk[c], bytes);
      }
    }
  }
  for (uint32_t c = 0; c < connections_.size(); ++c) {
    if (chunk[c] == 0) continue;
    shares_[c] = true;
    const int room = static_cast<int>(chunk[c]);  // which the kernel doubles, socket(7)
    setsockopt(connections_[c].get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  }
}

bool DataMover::MoveData(IterationState* state) {
  bool has_news = true;
  while (has_news) {
    has_news = messages_ && messages_->Poll(state);
    if (HasLost()) return false;
    const std::optional<bool> has_moved = MoveBytes(state);
    if (!has_moved) return false;
    has_news |= messages_ && *has_moved;
  }
  return true;
}

// Whether any moved; nothing: a peer was lost.
std::optional<bool> DataMover::MoveBytes(IterationState* state) {
  movable_.clear();
  for (uint32_t c = 0; c < connections_.size(); ++c) {
    if (IsWanted(*state, c)) movable_.push_back(c);
  }
  bool has_moved = false;
  // In turns, so that a pool does not go to its first connections.
  while (!movable_.empty()) {
    size_t kept = 0;
    for (const uint32_t c : movable_) {
      const ssize_t moved = Move(c, state);
      if (moved < 0) return std::nullopt;
      has_moved |= moved > 0;
      if (moved > 0 && IsWanted(*state, c)) movable_[kept++] = c;
    }
    movable_.resize(kept);
  }
  return has_moved;
}

// Something is to be sent or received on a connection.
bool DataMover::IsWanted(const IterationState& state, uint32_t c) const {
  if (senders_[c].is_open()) return true;
  if (receivers_[c].has_ended() || receivers_[c].is_early(order_.NumberAt(state.phase()))) return false;
  return state.sendable(c) > 0;
}

// As Send and Receive, and tells the state.
ssize_t DataMover::Move(uint32_t c, IterationState* state) {
  const uint64_t room = state->sendable(c);
  if (!plan_.connections[c].is_outgoing) {
    const ssize_t moved = shares_[c] ? ReceiveChunks(c, *state) : Receive(c, room);
    if (moved > 0) state->OnReceived(c, static_cast<uint64_t>(moved));
    if (moved > 0 && messages_) messages_->OnRead(c);
    return moved;
  }
  if (shares_[c]) return SendChunks(c, state);
  const ssize_t moved = Send(c, room);
  if (moved > 0) {
    state->Take(c, static_cast<uint64_t>(moved));
    state->OnSent(c, static_cast<uint64_t>(moved));
  }
  return moved;
}

ssize_t DataMover::SendChunks(uint32_t c, IterationState* state) {
  ChunkSender& sender = senders_[c];
  if (!sender.is_open()) {
    const uint64_t bytes = state->next_chunk(c);
    if (bytes == 0) return 0;  // others of the pool were quicker
    const auto begun =
        sender.Begin(connections_[c].get(), order_.NumberAt(state->phase()), static_cast<uint32_t>(bytes));
    if (!begun.ok()) return Lose(c, begun.status().message());
    if (!*begun) return 0;
    state->Take(c, bytes);
  }
  const auto sent = sender.Send(connections_[c].get(), buffer_);
  if (!sent.ok()) return Lose(c, sent.status().message());
  state->OnSent(c, *sent);
  CountSent(c, *sent);
  return static_cast<ssize_t>(*sent);
}

// All connections of a pool have ended.
bool DataMover::PoolHasEnded(const IterationState& state, uint32_t member) const {
  for (uint32_t c = 0; c < connections_.size(); ++c) {
    if (state.HaveOnePool(c, member) && !receivers_[c].has_ended()) return false;
  }
  return true;
}

ssize_t DataMover::ReceiveChunks(uint32_t c, const IterationState& state) {
  const uint64_t expected = state.expected(c);
  if (expected == 0) return 0;  // others of the pool were quicker
  const auto received =
      receivers_[c].Receive(connections_[c].get(), order_.NumberAt(state.phase()), expected, &buffer_);
  if (!received.ok()) return Lose(c, received.status().message());
  if (receivers_[c].has_ended() && PoolHasEnded(state, c)) return Lose(c, "it has closed its connections");
  received_bytes_ += *received;
  return static_cast<ssize_t>(*received);
}

ssize_t DataMover::Send(uint32_t c, uint64_t room) {
  const ssize_t count =
      send(connections_[c].get(), buffer_.data(), std::min<uint64_t>(room, kBufferBytes), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : Lose(c, std::strerror(errno));
  CountSent(c, static_cast<uint64_t>(count));
  return count;
}

void DataMover::CountSent(uint32_t c, uint64_t bytes) {
  sent_bytes_ += bytes;
  if (messages_) messages_->OnTaken(c, bytes);
}

ssize_t DataMover::Receive(uint32_t c, uint64_t room) {
  // What is received is not looked at: MSG_TRUNC lets the kernel drop it without a copy.
  const ssize_t count = recv(connections_[c].get(), buffer_.data(), std::min<uint64_t>(room, kBufferBytes), MSG_TRUNC);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : Lose(c, std::strerror(errno));
  if (count == 0) return Lose(c, "it has closed the connection");
  received_bytes_ += static_cast<uint64_t>(count);
  return count;
}

ssize_t DataMover::Lose(uint32_t c, std::string_view why) {
  const ConnectionPlan& connection = plan_.connections[c];
  lost_peer_ = fmt::format("job {}: worker {} ({}) is lost: {}", plan_.job, connection.peer,
                           connection.is_outgoing ? connection.to : connection.from, why);
  return -1;
}

// Whether a peer was lost on the way of messages.
bool DataMover::HasLost() {
  if (!messages_ || !messages_->loss()) return false;
  Lose(messages_->loss()->connection, messages_->loss()->why);
  return true;
}

// What is waited for on a connection.
int DataMover::EventsOf(const IterationState& state, uint32_t c) const {
  int events = 0;
  if (IsWanted(state, c)) events = plan_.connections[c].is_outgoing ? EPOLLOUT : EPOLLIN;
  if (messages_ && messages_->AwaitsPeer(c)) events |= EPOLLIN;
  if (messages_ && messages_->AwaitsRoom(c)) events |= EPOLLOUT;
  return events;
}

// Watches exactly the connections that something is waited for on.
void DataMover::Watch(const IterationState& state) {
  for (uint32_t c = 0; c < connections_.size(); ++c) {
    const int wanted = EventsOf(state, c);
    if (wanted == watched_[c]) continue;
    epoll_event event = {static_cast<uint32_t>(wanted), {.u32 = c}};
    epoll_ctl(poller_.get(), watched_[c] == kNotWatched ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connections_[c].get(), &event);
    watched_[c] = wanted;
  }
}

bool DataMover::Sleep(const IterationState& state, double now_s) {
  Watch(state);
  double until_s = std::min(state.next_instant_s().value_or(now_s + kLongestSleep), now_s + kLongestSleep);
  if (messages_) until_s = std::min(until_s, now_s + messages_->poll_after_s().value_or(kLongestSleep));
  const double length_s = std::max(0.0, until_s - now_s);
  timespec length = {static_cast<time_t>(length_s), 0};
  length.tv_nsec = static_cast<long>((length_s - std::floor(length_s)) * 1e9);
  std::array<epoll_event, 64> events{};
  const int count = epoll_pwait2(poller_.get(), events.data(), events.size(), &length, nullptr);
  for (int i = 0; i < count; ++i) {
    const uint32_t c = events[static_cast<size_t>(i)].data.u32;
    // Also on connections that nothing is waited for on: a peer that died is noticed at once.
    const bool is_dead = (events[static_cast<size_t>(i)].events & (EPOLLERR | EPOLLHUP)) != 0;
    if (is_dead && EventsOf(state, c) == 0) return Lose(c, "the connection has broken") >= 0;
  }
  return true;
}

bool DataMover::Drain(const std::atomic<bool>& stop) {
  while (messages_) {
    while (messages_->Poll(nullptr)) continue;
    if (messages_->is_idle()) return true;
    if (stop || HasLost()) return false;
    const double length_s = messages_->poll_after_s().value_or(kLongestSleep);
    std::this_thread::sleep_for(std::chrono::duration<double>(length_s));
  }
  return true;
}

}  // namespace fairlead::lab
