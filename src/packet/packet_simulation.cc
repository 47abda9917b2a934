#include "packet/packet_simulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::packet {

namespace {

constexpr double kPicoseconds = 1e12;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
// Queues of a link: headers without payload, then the levels.
constexpr size_t kNumQueues = kNumLevels + 1;

int64_t ToPicoseconds(double seconds) { return std::llround(seconds * kPicoseconds); }

struct Packet {
  uint32_t connection = 0;
  uint32_t message = 0;
  uint32_t payload = 0;  // 0 once trimmed
  uint32_t lost = 0;     // payload that was cut off
  uint16_t path = 0;
  uint16_t hop = 0;
  bool marked = false;
  uint32_t next = kNone;  // in its queue
};

struct Queue {
  uint32_t first = kNone;
  uint32_t last = kNone;
  uint32_t count = 0;
  uint64_t bytes = 0;
};

struct LinkState {
  std::array<Queue, kNumQueues> queues;
  uint64_t waiting = 0;  // bytes, all queues
  int64_t waiting_since = 0;
  double waited = 0;  // bytes times picoseconds before that
  uint64_t waiting_max = 0;
  bool busy = false;
};

// A piece of a message that is to be sent.
struct Piece {
  uint32_t message = 0;
  uint64_t bytes = 0;
};

struct ConnectionState {
  std::deque<Piece> waiting;  // new, in order
  std::deque<Piece> again;    // trimmed packets; they go first
  size_t num_unfinished = 0;  // messages that are ready and have not arrived
  // kMarking
  RateControl rate;
  double window = 0;     // bytes of payload
  double in_flight = 0;  // the same
  int64_t next_send = 0;
  bool has_timer = false;
  // kPulled
  uint32_t credits = 0;  // packets that may be sent
  Random random;
  std::vector<uint16_t> order;  // of the paths, this round
  size_t turn = 0;
};

// Receiver's link: whom to pull next.
struct PullState {
  std::array<std::deque<uint32_t>, kNumLevels> waiting;  // connections, one entry for each pull
  int64_t next = 0;
  bool has_timer = false;

  bool empty() const {
    return std::all_of(waiting.begin(), waiting.end(), [](const auto& level) { return level.empty(); });
  }
};

enum class EventKind : uint8_t {
  kReady,
  kSent,
  kArrived,
  kAcknowledged,
  kTrimKnown,
  kPulled,
  kPullTimer,
  kSendTimer,
  kWake
};

struct Event {
  int64_t at = 0;
  uint64_t order = 0;
  EventKind kind = EventKind::kReady;
  bool marked = false;
  uint32_t subject = 0;  // message, packet, connection, link or partition, by kind
  uint32_t bytes = 0;
  uint32_t message = 0;

  bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
};

// A partition that is steady, since it was taken out of the heap.
struct SkippedPartition {
  int64_t since = 0;
  int64_t until = 0;          // at the latest
  std::vector<Event> events;  // of its packets and timers, as they stood
};

// Size        the state of all packets in one event loop, [link], [connection] and [message] side by side for speed.
class Simulation {
 public:
  Simulation(const PacketWorkload& workload, const PacketOptions& options);
  PacketResult Run();

 private:
  bool pulls() const { return options_.transport == Transport::kPulled; }
  const std::vector<uint32_t>& PathOf(const Packet& packet) const {
    return workload_.connections[packet.connection].paths[packet.path];
  }
  uint32_t WireBytes(const Packet& packet) const {
    return packet.lost > 0 ? options_.control : packet.payload + options_.header;
  }
  int64_t TimeOnWire(uint32_t link, uint32_t bytes) const {
    return ToPicoseconds(bytes / workload_.links[link].bytes_per_s);
  }

  void Add(Event event) {
    event.order = num_events_++;
    Push(event);
  }
  void Push(const Event& event) {
    events_.push_back(event);
    std::ranges::push_heap(events_, std::greater());
  }
  void Handle(const Event& event);

  void MessageReady(uint32_t message);
  void MessageDone(uint32_t message);
  // Sends what the connection may send now.
  void TrySend(uint32_t connection);
  void TrySendPaced(uint32_t connection);
  void SendPacket(uint32_t connection);
  uint16_t NextPath(uint32_t connection);

  void Enqueue(uint32_t index);
  void CountWaiting(LinkState* state) const {
    state->waited += static_cast<double>(state->waiting) * static_cast<double>(now_ - state->waiting_since);
    state->waiting_since = now_;
  }
  bool IsMarked(const Queue& queue);
  void StartLink(uint32_t link);
  void PacketSent(uint32_t index);
  void PacketArrived(uint32_t index);
  void Deliver(uint32_t index);
  void QueuePull(uint32_t connection);
  void SendPull(uint32_t link);

  uint32_t NewPacket();

  // Of skipped steady states.
  bool IsSkipped(uint32_t connection) const {
    return partitions_ && skipped_.contains(partitions_->OfConnection(connection));
  }
  void BeginConnection(uint32_t connection);
  void EndConnection(uint32_t connection);
  void NoteArrival(uint32_t connection, uint32_t bytes);
  // How long the partition can go on as it does, picoseconds: until the message that is sent by one of its connections
  // has one packet left. 0: an earlier message has not arrived yet.
  int64_t SteadySpan(const Partition& partition) const;
  uint32_t PartitionOf(const Event& event) const;
  void Skip(uint32_t partition, int64_t span);
  void Resume(uint32_t index);

  const PacketWorkload& workload_;
  PacketOptions options_;
  std::vector<Event> events_;  // a heap
  uint64_t num_events_ = 0;
  int64_t now_ = 0;
  std::vector<Packet> packets_;
  std::vector<uint32_t> free_packets_;
  std::vector<LinkState> links_;
  std::vector<ConnectionState> connections_;
  std::vector<int64_t> return_delay_;  // [connection] of what comes back
  std::vector<PullState> pulls_;       // [link], for those that connections end at
  std::vector<uint64_t> left_;         // [message] bytes that have not arrived
  std::vector<size_t> waits_;          // [message] for so many others
  std::vector<std::vector<uint32_t>> followers_;
  Random random_;
  std::optional<PartitionTable> partitions_;      // with skip_steady
  std::map<uint32_t, SkippedPartition> skipped_;  // [partition]
  PacketResult result_;
};

// What comes back crosses the same links the other way, and waits nowhere.
double ReturnDelay(const PacketWorkload& workload, const std::vector<uint32_t>& path, const PacketOptions& options) {
  double delay = 0;
  for (const uint32_t link : path) {
    delay += workload.links[link].delay_s + options.control / workload.links[link].bytes_per_s;
  }
  return delay;
}

Simulation::Simulation(const PacketWorkload& workload, const PacketOptions& options)
    : workload_(workload),
      options_(options),
      links_(workload.links.size()),
      pulls_(workload.links.size()),
      followers_(workload.messages.size()),
      random_(options.seed) {
  if (options.skip_steady) partitions_.emplace(workload, *options.skip_steady, options.payload);
  for (size_t c = 0; c < workload.connections.size(); ++c) {
    const Connection& connection = workload.connections[c];
    const double line_rate = workload.links[connection.paths[0].front()].bytes_per_s;
    ConnectionState state{.waiting = {},
                          .again = {},
                          .rate = RateControl(line_rate, options.rate_control),
                          .credits = options.first_window,
                          .random = Random(CombineHash(options.seed, c)),
                          .order = std::vector<uint16_t>(connection.paths.size())};
    state.window = options.window * RoundTrip(workload, connection, options) * line_rate * options.goodput() +
                   static_cast<double>(options.payload);
    std::iota(state.order.begin(), state.order.end(), uint16_t{0});
    state.turn = state.order.size();
    connections_.push_back(std::move(state));
    double longest = 0;
    for (const auto& path : connection.paths) longest = std::max(longest, ReturnDelay(workload, path, options));
    return_delay_.push_back(ToPicoseconds(longest));
  }
  for (uint32_t m = 0; m < workload.messages.size(); ++m) {
    const Message& message = workload.messages[m];
    left_.push_back(message.bytes);
    waits_.push_back(message.after.size());
    for (const uint32_t before : message.after) followers_[before].push_back(m);
    if (message.after.empty()) {
      Add({.at = ToPicoseconds(message.delay_s), .kind = EventKind::kReady, .subject = m});
    }
  }
  result_.finish_s.assign(workload.messages.size(), std::numeric_limits<double>::quiet_NaN());
  result_.ready_s = result_.finish_s;
}

PacketResult Simulation::Run() {
  while (!events_.empty()) {
    std::ranges::pop_heap(events_, std::greater());
    const Event event = events_.back();
    events_.pop_back();
    now_ = event.at;
    ++result_.num_events;
    Handle(event);
  }
  for (const LinkState& link : links_) {
    result_.queue_max.push_back(static_cast<double>(link.waiting_max));
    result_.queue_byte_s.push_back(link.waited / kPicoseconds);
  }
  return std::move(result_);
}

void Simulation::Handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kReady:
      return MessageReady(event.subject);
    case EventKind::kSent:
      return PacketSent(event.subject);
    case EventKind::kArrived:
      return PacketArrived(event.subject);
    case EventKind::kAcknowledged: {
      ConnectionState& state = connections_[event.subject];
      state.in_flight -= event.bytes;
      if (event.marked) state.rate.OnMark(now_);
      return TrySend(event.subject);
    }
    case EventKind::kTrimKnown:
      connections_[event.subject].again.push_back({event.message, event.bytes});
      return TrySend(event.subject);
    case EventKind::kPulled:
      ++connections_[event.subject].credits;
      return TrySend(event.subject);
    case EventKind::kPullTimer:
      pulls_[event.subject].has_timer = false;
      return SendPull(event.subject);
    case EventKind::kSendTimer:
      connections_[event.subject].has_timer = false;
      return TrySend(event.subject);
    case EventKind::kWake: {
      const auto skipped = skipped_.find(event.subject);
      if (skipped != skipped_.end() && skipped->second.until == now_) Resume(event.subject);
      return;
    }
  }
}

void Simulation::MessageReady(uint32_t message) {
  const Message& ready = workload_.messages[message];
  result_.ready_s[message] = static_cast<double>(now_) / kPicoseconds;
  ConnectionState& state = connections_[ready.connection];
  state.waiting.push_back({message, ready.bytes});
  if (state.num_unfinished++ == 0) BeginConnection(ready.connection);
  // In a partition that is skipped it waits behind another message.
  if (!IsSkipped(ready.connection)) TrySend(ready.connection);
}

void Simulation::MessageDone(uint32_t message) {
  result_.finish_s[message] = static_cast<double>(now_) / kPicoseconds;
  const uint32_t connection = workload_.messages[message].connection;
  if (--connections_[connection].num_unfinished == 0) EndConnection(connection);
  for (const uint32_t follower : followers_[message]) {
    if (--waits_[follower] > 0) continue;
    const int64_t at = now_ + ToPicoseconds(workload_.messages[follower].delay_s);
    Add({.at = at, .kind = EventKind::kReady, .subject = follower});
  }
}

void Simulation::TrySend(uint32_t connection) {
  if (!pulls()) return TrySendPaced(connection);
  ConnectionState& state = connections_[connection];
  while (state.credits > 0 && !(state.waiting.empty() && state.again.empty())) {
    --state.credits;
    SendPacket(connection);
  }
}

void Simulation::TrySendPaced(uint32_t connection) {
  ConnectionState& state = connections_[connection];
  while (!state.waiting.empty()) {
    const double payload = static_cast<double>(std::min<uint64_t>(options_.payload, state.waiting.front().bytes));
    if (state.in_flight + payload > state.window && state.in_flight > 0) return;
    if (state.next_send > now_) {
      if (!state.has_timer) Add({.at = state.next_send, .kind = EventKind::kSendTimer, .subject = connection});
      state.has_timer = true;
      return;
    }
    state.in_flight += payload;
    SendPacket(connection);
    state.rate.AdvanceTo(now_);
    state.next_send = now_ + ToPicoseconds((payload + options_.header) / state.rate.rate());
  }
}

uint16_t Simulation::NextPath(uint32_t connection) {
  ConnectionState& state = connections_[connection];
  if (state.order.size() == 1) return 0;
  if (state.turn == state.order.size()) {
    state.turn = 0;
    state.random.Shuffle(std::span(state.order));
  }
  return state.order[state.turn++];
}

void Simulation::SendPacket(uint32_t connection) {
  ConnectionState& state = connections_[connection];
  std::deque<Piece>& pieces = state.again.empty() ? state.waiting : state.again;
  Piece& piece = pieces.front();
  const auto payload = static_cast<uint32_t>(std::min<uint64_t>(options_.payload, piece.bytes));
  const uint32_t index = NewPacket();
  packets_[index] = {.connection = connection, .message = piece.message, .payload = payload};
  packets_[index].path = NextPath(connection);
  piece.bytes -= payload;
  if (piece.bytes == 0) pieces.pop_front();
  ++result_.packets_sent;
  Enqueue(index);
}

uint32_t Simulation::NewPacket() {
  if (free_packets_.empty()) {
    packets_.emplace_back();
    return static_cast<uint32_t>(packets_.size() - 1);
  }
  const uint32_t index = free_packets_.back();
  free_packets_.pop_back();
  return index;
}

bool Simulation::IsMarked(const Queue& queue) {
  const auto bytes = static_cast<double>(queue.bytes);
  if (bytes <= options_.mark_min) return false;
  if (bytes >= options_.mark_max) return true;
  const double share = (bytes - options_.mark_min) / (options_.mark_max - options_.mark_min);
  return random_.Uniform() < share * options_.mark_probability;
}

void Simulation::Enqueue(uint32_t index) {
  Packet& packet = packets_[index];
  const uint32_t link = PathOf(packet)[packet.hop];
  LinkState& state = links_[link];
  const uint32_t level = workload_.connections[packet.connection].level;
  const bool in_switch = workload_.links[link].in_switch;
  if (in_switch && pulls() && packet.lost == 0 && state.queues[level + 1].count >= options_.trim_packets) {
    packet.lost = packet.payload;
    packet.payload = 0;
    ++result_.packets_trimmed;
  }
  Queue& queue = state.queues[packet.lost > 0 ? 0 : level + 1];
  if (in_switch && !pulls() && !packet.marked && IsMarked(queue)) {
    packet.marked = true;
    ++result_.packets_marked;
  }
  packet.next = kNone;
  if (queue.last == kNone) {
    queue.first = index;
  } else {
    packets_[queue.last].next = index;
  }
  queue.last = index;
  ++queue.count;
  const uint32_t bytes = WireBytes(packet);
  queue.bytes += bytes;
  CountWaiting(&state);
  state.waiting += bytes;
  if (!state.busy) StartLink(link);
  state.waiting_max = std::max(state.waiting_max, state.waiting);
}

void Simulation::StartLink(uint32_t link) {
  LinkState& state = links_[link];
  const auto found = std::ranges::find_if(state.queues, [](const Queue& queue) { return queue.count > 0; });
  state.busy = found != state.queues.end();
  if (!state.busy) return;
  const uint32_t index = found->first;
  const uint32_t bytes = WireBytes(packets_[index]);
  found->first = packets_[index].next;
  if (found->first == kNone) found->last = kNone;
  --found->count;
  found->bytes -= bytes;
  CountWaiting(&state);
  state.waiting -= bytes;
  Add({.at = now_ + TimeOnWire(link, bytes), .kind = EventKind::kSent, .subject = index});
}

void Simulation::PacketSent(uint32_t index) {
  const uint32_t link = PathOf(packets_[index])[packets_[index].hop];
  const int64_t delay = ToPicoseconds(workload_.links[link].delay_s);
  Add({.at = now_ + delay, .kind = EventKind::kArrived, .subject = index});
  StartLink(link);
}

void Simulation::PacketArrived(uint32_t index) {
  Packet& packet = packets_[index];
  if (++packet.hop < PathOf(packet).size()) return Enqueue(index);
  Deliver(index);
}

void Simulation::Deliver(uint32_t index) {
  const Packet packet = packets_[index];
  free_packets_.push_back(index);
  const int64_t back = now_ + return_delay_[packet.connection];
  if (packet.lost > 0) {
    Add({.at = back,
         .kind = EventKind::kTrimKnown,
         .subject = packet.connection,
         .bytes = packet.lost,
         .message = packet.message});
  } else {
    ++result_.packets_delivered;
    result_.bytes_delivered += packet.payload;
  }
  if (pulls()) {
    QueuePull(packet.connection);
  } else {
    Add({.at = back,
         .kind = EventKind::kAcknowledged,
         .marked = packet.marked,
         .subject = packet.connection,
         .bytes = packet.payload});
  }
  if (packet.lost > 0) return;
  left_[packet.message] -= packet.payload;
  if (left_[packet.message] == 0) MessageDone(packet.message);
  NoteArrival(packet.connection, packet.payload);
}

void Simulation::QueuePull(uint32_t connection) {
  const uint32_t link = workload_.connections[connection].paths[0].back();
  pulls_[link].waiting[workload_.connections[connection].level].push_back(connection);
  if (!pulls_[link].has_timer) SendPull(link);
}

void Simulation::SendPull(uint32_t link) {
  PullState& state = pulls_[link];
  while (!state.empty() && state.next <= now_) {
    const auto level = std::ranges::find_if(state.waiting, [](const auto& queue) { return !queue.empty(); });
    const uint32_t connection = level->front();
    level->pop_front();
    ConnectionState& sender = connections_[connection];
    if (sender.waiting.empty() && sender.again.empty()) {
      // Its last packet said that it was the last one: the turn is the next connection's.
      ++sender.credits;
      continue;
    }
    Add({.at = now_ + return_delay_[connection], .kind = EventKind::kPulled, .subject = connection});
    state.next = now_ + TimeOnWire(link, options_.payload + options_.header);
  }
  if (state.empty()) return;
  state.has_timer = true;
  Add({.at = state.next, .kind = EventKind::kPullTimer, .subject = link});
}

void Simulation::BeginConnection(uint32_t connection) {
  if (!partitions_) return;
  for (const uint32_t link : partitions_->LinksOf(connection)) Resume(partitions_->OfLink(link));
  partitions_->Join(connection, now_);
}

void Simulation::EndConnection(uint32_t connection) {
  if (partitions_) partitions_->Leave(connection, now_);
}

void Simulation::NoteArrival(uint32_t connection, uint32_t bytes) {
  if (!partitions_ || partitions_->OfConnection(connection) == PartitionTable::kNone) return;
  const uint32_t index = partitions_->OfConnection(connection);
  Partition& partition = partitions_->at(index);
  if (!partition.history.OnArrival(partitions_->PlaceOf(connection), bytes, now_) || !partition.history.IsSteady()) {
    return;
  }
  const int64_t span = SteadySpan(partition);
  if (span >= partition.history.LastSampleSpan()) Skip(index, span);
}

int64_t Simulation::SteadySpan(const Partition& partition) const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t place = 0; place < partition.members.size(); ++place) {
    const ConnectionState& state = connections_[partition.members[place]];
    if (state.num_unfinished != state.waiting.size()) return 0;
    const double rate = partition.history.RateOf(place);
    const uint64_t packets = (state.waiting.front().bytes - 1) / options_.payload;
    if (rate > 0) least = std::min(least, static_cast<double>(packets * options_.payload) / rate);
  }
  return static_cast<int64_t>(least);
}

uint32_t Simulation::PartitionOf(const Event& event) const {
  switch (event.kind) {
    case EventKind::kSent:
    case EventKind::kArrived:
      return partitions_->OfConnection(packets_[event.subject].connection);
    case EventKind::kAcknowledged:
    case EventKind::kTrimKnown:
    case EventKind::kPulled:
    case EventKind::kSendTimer:
      return partitions_->OfConnection(event.subject);
    case EventKind::kPullTimer:
      return partitions_->OfLink(event.subject);
    case EventKind::kReady:
    case EventKind::kWake:
      break;
  }
  return PartitionTable::kNone;
}

void Simulation::Skip(uint32_t partition, int64_t span) {
  SkippedPartition& skipped = skipped_[partition];
  skipped.since = now_;
  skipped.until = now_ + span;
  const auto mine = std::partition(events_.begin(), events_.end(),
                                   [&](const Event& event) { return PartitionOf(event) != partition; });
  skipped.events.assign(mine, events_.end());
  events_.erase(mine, events_.end());
  std::ranges::make_heap(events_, std::greater());
  Add({.at = skipped.until, .kind = EventKind::kWake, .subject = partition});
}

void Simulation::Resume(uint32_t index) {
  const auto found = skipped_.find(index);
  if (found == skipped_.end()) return;
  const SkippedPartition skipped = std::move(found->second);
  skipped_.erase(found);
  const int64_t span = now_ - skipped.since;
  Partition& partition = partitions_->at(index);
  SteadyState& steady = result_.steady_states.emplace_back();
  steady.start_s = static_cast<double>(skipped.since) / kPicoseconds;
  steady.length_s = static_cast<double>(span) / kPicoseconds;
  steady.connections = partition.members;
  std::set<uint32_t> receivers;  // links
  for (size_t place = 0; place < partition.members.size(); ++place) {
    const uint32_t connection = partition.members[place];
    ConnectionState& state = connections_[connection];
    Piece& piece = state.waiting.front();
    const double rate = partition.history.RateOf(place);
    const auto sent = std::min(static_cast<uint64_t>(std::llround(rate * static_cast<double>(span) / options_.payload)),
                               (piece.bytes - 1) / options_.payload);
    piece.bytes -= sent * options_.payload;
    left_[piece.message] -= sent * options_.payload;
    result_.packets_skipped += sent;
    result_.bytes_skipped += sent * options_.payload;
    state.next_send += span;
    state.rate.ShiftBy(span);
    receivers.insert(workload_.connections[connection].paths[0].back());
    steady.rates.push_back(rate * kPicoseconds);
  }
  for (const uint32_t link : receivers) pulls_[link].next += span;
  for (Event event : skipped.events) {
    event.at += span;
    Push(event);
  }
  partition.history.Restart(partition.members.size(), now_);
}

}  // namespace

PacketResult SimulatePackets(const PacketWorkload& workload, const PacketOptions& options) {
  FL_CHECK_MSG(workload.Validate().ok(), "a valid workload");
  for (const Connection& connection : workload.connections) {
    FL_CHECK_MSG(options.transport == Transport::kPulled || connection.paths.size() == 1, "marking needs one path");
  }
  return Simulation(workload, options).Run();
}

double RoundTrip(const PacketWorkload& workload, const Connection& connection, const PacketOptions& options) {
  double longest = 0;
  for (const std::vector<uint32_t>& path : connection.paths) {
    double there = 0;
    for (const uint32_t link : path) {
      there += workload.links[link].delay_s + (options.payload + options.header) / workload.links[link].bytes_per_s;
    }
    longest = std::max(longest, there + ReturnDelay(workload, path, options));
  }
  return longest;
}

}  // namespace fairlead::packet
