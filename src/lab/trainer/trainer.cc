#include "lab/trainer/trainer.h"

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
#include <optional>
#include <thread>

#include "lab/trainer/iteration_state.h"

namespace fairlead::lab {

namespace {

// Longest sleep: a signal that comes just before one is seen after it.
constexpr double kSleepMax = 0.1;
// A peer may have been told to stop a moment before this worker is.
constexpr std::chrono::milliseconds kStopGrace{500};
constexpr size_t kBufferBytes = 256 * 1024;

double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Worker {
 public:
  Worker(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop)
      : plan_(plan),
        connections_(std::move(connections)),
        stop_(stop),
        watched_(connections_.size(), kNotWatched),
        buffer_(kBufferBytes, 'x'),
        poller_(epoll_create1(EPOLL_CLOEXEC)) {}

  // The iteration that just ended, or nothing when it did not: stopped, or a peer was lost.
  std::optional<std::string> PlayIteration(uint64_t index) {
    const double begin_s = NowSeconds();
    IterationState state(plan_, begin_s);
    while (!state.is_over()) {
      if (stop_ || !MoveData(&state)) return std::nullopt;
      const double now_s = NowSeconds();
      state.Advance(now_s);
      if (state.is_over()) break;
      if (!Sleep(state, now_s)) return std::nullopt;
      state.Advance(NowSeconds());
    }
    const double end_s = NowSeconds();
    return fmt::format(R"({{"iteration": {}, "begin_s": {:.6f}, "seconds": {:.6f}, "exposed_s": {:.6f}}})", index,
                       begin_s, end_s - begin_s, std::max(0.0, state.exposed_s(end_s)));
  }

  // What went wrong; empty: nothing.
  const std::string& lost_peer() const { return lost_peer_; }
  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t received_bytes() const { return received_bytes_; }

 private:
  static constexpr int kNotWatched = -1;

  // Sends and receives what is allowed and possible without waiting. False: a peer was lost.
  bool MoveData(IterationState* state) {
    for (uint32_t c = 0; c < connections_.size(); ++c) {
      while (const uint64_t room = state->sendable(c)) {
        const ssize_t moved = plan_.connections[c].is_outgoing ? Send(c, room) : Receive(c, room);
        if (moved < 0) return false;
        if (moved == 0) break;
        if (plan_.connections[c].is_outgoing) {
          state->OnSent(c, static_cast<uint64_t>(moved));
        } else {
          state->OnReceived(c, static_cast<uint64_t>(moved));
        }
      }
    }
    return true;
  }

  // Bytes moved; 0: would block; -1: the peer was lost.
  ssize_t Send(uint32_t c, uint64_t room) {
    const ssize_t count =
        send(connections_[c].get(), buffer_.data(), std::min<uint64_t>(room, kBufferBytes), MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : Lose(c, std::strerror(errno));
    sent_bytes_ += static_cast<uint64_t>(count);
    return count;
  }

  ssize_t Receive(uint32_t c, uint64_t room) {
    // What is received is not looked at: MSG_TRUNC lets the kernel drop it without a copy.
    const ssize_t count =
        recv(connections_[c].get(), buffer_.data(), std::min<uint64_t>(room, kBufferBytes), MSG_TRUNC);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : Lose(c, std::strerror(errno));
    if (count == 0) return Lose(c, "it has closed the connection");
    received_bytes_ += static_cast<uint64_t>(count);
    return count;
  }

  ssize_t Lose(uint32_t c, std::string_view why) {
    const ConnectionPlan& connection = plan_.connections[c];
    lost_peer_ = fmt::format("job {}: worker {} ({}) is lost: {}", plan_.job, connection.peer,
                             connection.is_outgoing ? connection.to : connection.from, why);
    return -1;
  }

  // Watches exactly the connections that something is waited for on.
  void Watch(const IterationState& state) {
    for (uint32_t c = 0; c < connections_.size(); ++c) {
      int wanted = 0;
      if (state.sendable(c) > 0) wanted = plan_.connections[c].is_outgoing ? EPOLLOUT : EPOLLIN;
      if (wanted == watched_[c]) continue;
      epoll_event event = {static_cast<uint32_t>(wanted), {.u32 = c}};
      epoll_ctl(poller_.get(), watched_[c] == kNotWatched ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connections_[c].get(),
                &event);
      watched_[c] = wanted;
    }
  }

  // Sleeps until data can move or the state changes by itself. False: a peer was lost.
  bool Sleep(const IterationState& state, double now_s) {
    Watch(state);
    const double until_s = std::min(state.next_instant_s().value_or(now_s + kSleepMax), now_s + kSleepMax);
    const double length_s = std::max(0.0, until_s - now_s);
    timespec length = {static_cast<time_t>(length_s), 0};
    length.tv_nsec = static_cast<long>((length_s - std::floor(length_s)) * 1e9);
    std::array<epoll_event, 64> events{};
    const int count = epoll_pwait2(poller_.get(), events.data(), events.size(), &length, nullptr);
    for (int i = 0; i < count; ++i) {
      const uint32_t c = events[static_cast<size_t>(i)].data.u32;
      // Also on connections that nothing is waited for on: a peer that died is noticed at once.
      const bool is_dead = (events[static_cast<size_t>(i)].events & (EPOLLERR | EPOLLHUP)) != 0;
      if (is_dead && state.sendable(c) == 0) return Lose(c, "the connection has broken") >= 0;
    }
    return true;
  }

  const TrainerPlan& plan_;
  Connections connections_;
  const std::atomic<bool>& stop_;
  std::vector<int> watched_;  // [connection] epoll events
  std::string buffer_;
  Descriptor poller_;
  std::string lost_peer_;
  uint64_t sent_bytes_ = 0;
  uint64_t received_bytes_ = 0;
};

// Sleeps in pieces, so that a signal ends it.
void SleepFor(double seconds, const std::atomic<bool>& stop) {
  const double end_s = NowSeconds() + seconds;
  for (double now_s = NowSeconds(); now_s < end_s && !stop; now_s = NowSeconds()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(kSleepMax, end_s - now_s)));
  }
}

}  // namespace

Status Train(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop, const RecordSink& record,
             PlayedGpus* gpus) {
  FL_CHECK(connections.size() == plan.connections.size());
  SleepFor(plan.start_s, stop);
  Worker worker(plan, std::move(connections), stop);
  uint64_t done = 0;
  while (plan.iterations == 0 || done < plan.iterations) {
    const auto line = worker.PlayIteration(done);
    if (!line) break;
    record(*line);
    if (gpus != nullptr) gpus->Add(plan.work_flop, plan.compute_s);
    ++done;
  }
  const bool is_done = plan.iterations != 0 && done == plan.iterations;
  if (!is_done && !stop) SleepFor(std::chrono::duration<double>(kStopGrace).count(), stop);
  record(fmt::format(R"({{"end": "{}", "iterations": {}, "sent_bytes": {}, "received_bytes": {}}})",
                     is_done ? "done"
                     : stop  ? "stopped"
                             : "peer lost",
                     done, worker.sent_bytes(), worker.received_bytes()));
  return is_done || stop ? OkStatus() : Unavailable(worker.lost_peer());
}

}  // namespace fairlead::lab
