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
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "base/steady_seconds.h"
#include "lab/trainer/checkpoint.h"
#include "lab/trainer/chunk.h"
#include "lab/trainer/iteration_state.h"
#include "lab/trainer/message_transport.h"
#include "lab/trainer/trainer_control.h"

namespace fairlead::lab {

namespace {

// Longest sleep: a signal that comes just before one is seen after it.
constexpr double kSleepMax = 0.1;
constexpr size_t kBufferBytes = 262'144;

class Worker {
 public:
  Worker(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop, const TrainOptions& options)
      : plan_(plan),
        connections_(std::move(connections)),
        stop_(stop),
        control_(options.control),
        observer_(options.observer),
        records_phases_(options.records_phases),
        watched_(connections_.size(), kNotWatched),
        shares_(connections_.size(), false),
        senders_(connections_.size()),
        receivers_(connections_.size()),
        buffer_(kBufferBytes, 'x'),
        poller_(epoll_create1(EPOLL_CLOEXEC)) {
    PrepareSharing();
    if (observer_ != nullptr) messages_.emplace(plan_, connections_, observer_);
  }

  struct Simulated {
    bool is_over = false;  // false: stopped, or a peer was lost
    std::string record;    // of the iteration; empty: nothing is recorded of one that did not end
  };

  Simulated SimulateIteration(uint64_t index) {
    const double begin_s = SteadySeconds();
    const TrainerRequests& requests = control_.Look();
    PreparePhases(requests.bad_order);
    IterationState state(
        has_bad_order_ ? bad_order_plan_ : plan_, begin_s,
        {.at_begin_s = requests.loader_s + control_.TakePause(), .before_each_phase_s = requests.busy_s});
    BeginIteration(index, &state);
    while (!state.is_over()) {
      if (stop_ || !MoveData(&state)) return Unfinished(index, begin_s, &state);
      const double now_s = SteadySeconds();
      Advance(now_s, &state);
      if (state.is_over()) break;
      if (!Sleep(state, now_s)) return Unfinished(index, begin_s, &state);
      Advance(SteadySeconds(), &state);
    }
    return {.is_over = true, .record = RecordOf("iteration", index, begin_s, SteadySeconds(), state)};
  }

  // Waits until the peers have got all that was sent. False: stopped, or a peer was lost.
  bool Drain() {
    while (messages_) {
      while (messages_->Poll(nullptr)) continue;
      if (messages_->is_idle()) return true;
      if (stop_ || HasLost()) return false;
      const double length_s = messages_->poll_after_s().value_or(kSleepMax);
      std::this_thread::sleep_for(std::chrono::duration<double>(length_s));
    }
    return true;
  }

  // What went wrong; empty: nothing.
  const std::string& lost_peer() const { return lost_peer_; }
  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t received_bytes() const { return received_bytes_; }

 private:
  static constexpr int kNotWatched = -1;

  // ---- Records ----

  Simulated Unfinished(uint64_t index, double begin_s, IterationState* state) {
    if (!records_phases_) return {};
    const double end_s = SteadySeconds();
    state->Advance(end_s);
    return {.is_over = false, .record = RecordOf("unfinished", index, begin_s, end_s, *state)};
  }

  std::string RecordOf(std::string_view key, uint64_t index, double begin_s, double end_s,
                       const IterationState& state) const {
    std::string record = fmt::format(R"({{"{}": {}, "begin_s": {:.6f}, "seconds": {:.6f}, "exposed_s": {:.6f})", key,
                                     index, begin_s, end_s - begin_s, std::max(0.0, state.exposed_s(end_s)));
    if (records_phases_) record += PhasesOf(begin_s, end_s, state);
    return record + "}";
  }

  std::string PhasesOf(double begin_s, double end_s, const IterationState& state) const {
    std::string text = R"(, "phases": [)";
    const char* gap = "";
    for (size_t p = 0; p < state.phase_spans().size(); ++p, gap = ", ") {
      const TimeSpan& span = state.phase_spans()[p];
      const double to_s = state.phase_runs() && p == state.phase() ? end_s : span.to_s;
      text += fmt::format("{}[{}, {:.6f}, {:.6f}]", gap, order_[p], span.from_s - begin_s, to_s - begin_s);
    }
    text += R"(], "stalls": [)";
    gap = "";
    for (const TimeSpan& span : state.stalls()) {
      text += fmt::format("{}[{:.6f}, {:.6f}]", gap, span.from_s - begin_s, span.to_s - begin_s);
      gap = ", ";
    }
    return text + "]";
  }

  // ---- Phases ----

  // In the wrong order the first two that communicate have changed places, each at the other one's time.
  void PreparePhases(bool bad_order) {
    order_.resize(plan_.phases.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::vector<size_t> talking;
    for (const size_t p : order_) {
      if (!plan_.phases[p].streams.empty()) talking.push_back(p);
    }
    has_bad_order_ = bad_order && talking.size() >= 2;
    if (!has_bad_order_) return;
    std::swap(order_[talking[0]], order_[talking[1]]);
    bad_order_plan_ = plan_;
    for (const size_t p : {talking[0], talking[1]}) {
      bad_order_plan_.phases[p] = plan_.phases[order_[p]];
      bad_order_plan_.phases[p].start_fraction = plan_.phases[p].start_fraction;
      bad_order_plan_.phases[p].blocks_compute = plan_.phases[p].blocks_compute;
    }
  }

  void BeginIteration(uint64_t index, IterationState* state) {
    iteration_ = index;
    first_phase_ = index * plan_.phases.size();
    num_called_ = num_begun_ = num_ended_ = 0;
    FollowPhases(state);
  }

  void Advance(double now_s, IterationState* state) {
    state->Advance(now_s);
    FollowPhases(state);
  }

  // Looks for new requests before each phase, and reports phases.
  void FollowPhases(IterationState* state) {
    if (num_called_ < state->num_reached()) {
      const TrainerRequests& requests = control_.Look();
      state->SetComputeBeforeEachPhase(requests.busy_s);
      state->Delay(control_.TakePause());
    }
    for (; num_called_ < state->num_reached(); ++num_called_) {
      if (observer_ != nullptr) observer_->OnCalled(iteration_, order_[num_called_]);
    }
    EndPhases(*state);
    if (!state->phase_runs() || num_begun_ > state->phase()) return;
    num_begun_ = state->phase() + 1;
    if (!messages_) return;
    observer_->OnBegan(iteration_, order_[state->phase()]);
    messages_->BeginPhase(iteration_, order_[state->phase()], state);
  }

  void EndPhases(const IterationState& state) {
    if (messages_ && num_ended_ < num_begun_ && num_begun_ <= state.phase()) messages_->EndPhase();
    num_ended_ = std::max(num_ended_, std::min(num_begun_, state.phase()));
  }

  // Of all phases since the first iteration's first one.
  uint64_t PhaseNumber(const IterationState& state) const {
    return first_phase_ + (state.phase() < order_.size() ? order_[state.phase()] : state.phase());
  }

  // ---- Data ----

  // Connections of pools have room for two chunks, so that the next ones go where chunks arrive. More is under way when
  // the pool is empty, and the slowest queue pair's part of it decides when the phase is over.
  void PrepareSharing() {
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

  // Sends and receives what is allowed and possible without waiting. False: a peer was lost.
  bool MoveData(IterationState* state) {
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
  std::optional<bool> MoveBytes(IterationState* state) {
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
  bool IsWanted(const IterationState& state, uint32_t c) const {
    if (senders_[c].is_open()) return true;
    if (receivers_[c].has_ended() || receivers_[c].is_early(PhaseNumber(state))) return false;
    return state.sendable(c) > 0;
  }

  // As Send and Receive, and tells the state.
  ssize_t Move(uint32_t c, IterationState* state) {
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

  ssize_t SendChunks(uint32_t c, IterationState* state) {
    ChunkSender& sender = senders_[c];
    if (!sender.is_open()) {
      const uint64_t bytes = state->next_chunk(c);
      if (bytes == 0) return 0;  // others of the pool were quicker
      const auto begun = sender.Begin(connections_[c].get(), PhaseNumber(*state), static_cast<uint32_t>(bytes));
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
  bool PoolHasEnded(const IterationState& state, uint32_t member) const {
    for (uint32_t c = 0; c < connections_.size(); ++c) {
      if (state.HaveOnePool(c, member) && !receivers_[c].has_ended()) return false;
    }
    return true;
  }

  ssize_t ReceiveChunks(uint32_t c, const IterationState& state) {
    const uint64_t expected = state.expected(c);
    if (expected == 0) return 0;  // others of the pool were quicker
    const auto received = receivers_[c].Receive(connections_[c].get(), PhaseNumber(state), expected, &buffer_);
    if (!received.ok()) return Lose(c, received.status().message());
    if (receivers_[c].has_ended() && PoolHasEnded(state, c)) return Lose(c, "it has closed its connections");
    received_bytes_ += *received;
    return static_cast<ssize_t>(*received);
  }

  // Bytes moved; 0: would block; -1: the peer was lost.
  ssize_t Send(uint32_t c, uint64_t room) {
    const ssize_t count =
        send(connections_[c].get(), buffer_.data(), std::min<uint64_t>(room, kBufferBytes), MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : Lose(c, std::strerror(errno));
    CountSent(c, static_cast<uint64_t>(count));
    return count;
  }

  void CountSent(uint32_t c, uint64_t bytes) {
    sent_bytes_ += bytes;
    if (messages_) messages_->OnTaken(c, bytes);
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

  // Whether a peer was lost on the way of messages.
  bool HasLost() {
    if (!messages_ || !messages_->loss()) return false;
    Lose(messages_->loss()->connection, messages_->loss()->why);
    return true;
  }

  // ---- Waiting ----

  // What is waited for on a connection.
  int EventsOf(const IterationState& state, uint32_t c) const {
    int events = 0;
    if (IsWanted(state, c)) events = plan_.connections[c].is_outgoing ? EPOLLOUT : EPOLLIN;
    if (messages_ && messages_->AwaitsPeer(c)) events |= EPOLLIN;
    if (messages_ && messages_->AwaitsRoom(c)) events |= EPOLLOUT;
    return events;
  }

  // Watches exactly the connections that something is waited for on.
  void Watch(const IterationState& state) {
    for (uint32_t c = 0; c < connections_.size(); ++c) {
      const int wanted = EventsOf(state, c);
      if (wanted == watched_[c]) continue;
      epoll_event event = {static_cast<uint32_t>(wanted), {.u32 = c}};
      epoll_ctl(poller_.get(), watched_[c] == kNotWatched ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connections_[c].get(),
                &event);
      watched_[c] = wanted;
    }
  }

  // Sleeps until data can move or the state changes without data. False: a peer was lost.
  bool Sleep(const IterationState& state, double now_s) {
    Watch(state);
    double until_s = std::min(state.next_instant_s().value_or(now_s + kSleepMax), now_s + kSleepMax);
    if (messages_) until_s = std::min(until_s, now_s + messages_->poll_after_s().value_or(kSleepMax));
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

  const TrainerPlan& plan_;
  Connections connections_;
  const std::atomic<bool>& stop_;
  TrainerControl control_;
  CollectiveObserver* observer_;
  const bool records_phases_;
  std::vector<int> watched_;                  // [connection] epoll events
  std::vector<bool> shares_;                  // [connection] its bytes with others
  std::vector<ChunkSender> senders_;          // [connection] of those that share
  std::vector<ChunkReceiver> receivers_;      // the same
  std::optional<MessageTransport> messages_;  // with an observer
  uint64_t iteration_ = 0;
  uint64_t first_phase_ = 0;    // number of the iteration's first phase
  std::vector<size_t> order_;   // [phase as done] phase of the plan
  bool has_bad_order_ = false;  // in this iteration; its plan:
  TrainerPlan bad_order_plan_;
  size_t num_called_ = 0;  // phases of the iteration
  size_t num_begun_ = 0;
  size_t num_ended_ = 0;
  std::vector<uint32_t> movable_;  // connections; of MoveData, kept for its memory
  std::string buffer_;
  Descriptor poller_;
  std::string lost_peer_;
  uint64_t sent_bytes_ = 0;
  uint64_t received_bytes_ = 0;
};

// Sleeps in pieces, so that a signal ends it.
void SleepFor(double seconds, const std::atomic<bool>& stop) {
  const double end_s = SteadySeconds() + seconds;
  for (double now_s = SteadySeconds(); now_s < end_s && !stop; now_s = SteadySeconds()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(kSleepMax, end_s - now_s)));
  }
}

}  // namespace

Status Train(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop, const RecordSink& record,
             const TrainOptions& options) {
  FL_CHECK(connections.size() == plan.connections.size());
  SleepFor(plan.start_s, stop);
  Worker worker(plan, std::move(connections), stop, options);
  uint64_t done = options.first_iteration;
  Status kept;
  while (kept.ok() && (plan.iterations == 0 || done < plan.iterations)) {
    const auto simulated = worker.SimulateIteration(done);
    if (!simulated.record.empty()) record(simulated.record);
    if (!simulated.is_over) break;
    if (options.gpus != nullptr) options.gpus->Add(plan.work_flop, plan.compute_s);
    ++done;
    kept = KeepCheckpoint(plan, done, options.checkpoint_wanted);
  }
  const bool is_done = kept.ok() && plan.iterations != 0 && done >= plan.iterations && worker.Drain();
  if (!is_done && kept.ok() && !stop) SleepFor(options.lost_peer_grace_s, stop);
  record(fmt::format(R"({{"end": "{}", "iterations": {}, "sent_bytes": {}, "received_bytes": {}}})",
                     is_done      ? "done"
                     : !kept.ok() ? "failed"
                     : stop       ? "stopped"
                                  : "peer lost",
                     done, worker.sent_bytes(), worker.received_bytes()));
  if (!kept.ok()) return kept;
  return is_done || stop ? OkStatus() : Unavailable(worker.lost_peer());
}

}  // namespace fairlead::lab
