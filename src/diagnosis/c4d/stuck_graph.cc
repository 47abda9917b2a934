#include "diagnosis/c4d/stuck_graph.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "diagnosis/c4d/strongly_connected.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::ConnectionKey;
using model::Direction;
using model::RankId;
using model::TransferPhase;

class StuckGraph {
 public:
  StuckGraph(const JobPicture& picture, model::CommunicatorId communicator, const std::vector<RankId>& ranks,
             const WaitGraphQuery& query)
      : picture_(picture), communicator_(communicator), ranks_(ranks), query_(query) {
    std::sort(ranks_.begin(), ranks_.end());
    edges_.resize(ranks_.size());
    waits_.resize(ranks_.size());
    is_busy_.assign(ranks_.size(), false);
    is_unsure_.assign(ranks_.size(), false);
    is_frozen_.assign(ranks_.size(), false);
  }

  StuckData Find() {
    FindLostMessages();
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      if (is_frozen_[i]) {
        is_busy_[i] = true;
        continue;
      }
      for (const ConnectionState& state : picture_.ConnectionsOf(ranks_[i], communicator_)) AddConnection(i, state);
    }
    StuckData data;
    std::vector<uint32_t> starts;
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      data.has_connections |= is_busy_[i];
      if (is_busy_[i]) starts.push_back(i);
    }
    std::vector<size_t> links;
    for (const std::vector<uint32_t>& sink : FindReachableSinks(edges_, starts)) AddSink(sink, &data, &links);
    const bool has_awaited = std::ranges::any_of(links, [&](size_t link) { return is_awaited_[link]; });
    for (const size_t link : links) {
      if (!has_awaited || is_awaited_[link]) data.links.push_back(links_[link]);
    }
    return data;
  }

 private:
  using LostMessage = std::pair<uint32_t, uint32_t>;  // receiver, which says that it has posted a buffer, and sender

  // Whether the rank would have reported another state by now.
  bool IsUpToDate(RankId rank, const ConnectionState& state) const {
    const SimTime last_progress = picture_.communicators()[communicator_].last_progress;
    return !query_.has_clock || picture_.IsUpToDate(rank, state, last_progress, query_.ReportDelay());
  }

  void AddConnection(uint32_t i, const ConnectionState& state) {
    if (!IsUpToDate(ranks_[i], state)) {
      is_unsure_[i] = true;
      return;
    }
    const TransferPhase phase = picture_.PhaseOf(ranks_[i], state);
    if (phase == TransferPhase::kIdle) return;
    is_busy_[i] = true;
    switch (phase) {
      case TransferPhase::kIdle:
        break;
      case TransferPhase::kSendWaitsForPeer:
        AddWaitForBuffer(i, state);
        waits_[i].push_back({state.key.channel, Wait::kForPeer});
        break;
      case TransferPhase::kReceivePosted:
        AddEdge(i, state.key.peer);
        waits_[i].push_back({state.key.channel, Wait::kForPeer});
        break;
      case TransferPhase::kSendOnWire:
        AddData(i, state);
        break;
      case TransferPhase::kSendWaitsForGpu:
        waits_[i].push_back({state.key.channel, Wait::kToSend});
        break;
      case TransferPhase::kReceiveFlushing:
      case TransferPhase::kReceiveWaitsForGpu:
        waits_[i].push_back({state.key.channel, Wait::kToReceive});
        break;
    }
  }

  // Marks ranks that no longer serve their connections, and what the network lost. A buffer that is posted while its
  // sender waits for one is a lost message between the two: the one that shares more such messages with others is the
  // one that does not send or receive; else it is the receiver. But a rank that keeps sending to one peer after the
  // other, and reaches none, is not frozen: it is cut off. A sender that has left the operation has done its part.
  void FindLostMessages() {
    std::vector<LostMessage> lost;
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      for (const ConnectionState& state : picture_.ConnectionsOf(ranks_[i], communicator_)) {
        if (!IsMessageLost(i, state)) continue;
        const auto sender = IndexOf(state.key.peer);
        if (sender) {
          lost.emplace_back(i, *sender);
        } else {
          is_frozen_[i] = true;
        }
      }
    }
    std::sort(lost.begin(), lost.end());
    lost.erase(std::unique(lost.begin(), lost.end()), lost.end());  // one for each pair, however many channels it has
    std::vector<uint32_t> messages(ranks_.size(), 0);
    std::vector<uint32_t> num_messages(ranks_.size(), 0);
    for (const auto& [receiver, sender] : lost) {
      ++messages[receiver];
      ++messages[sender];
      ++num_messages[receiver];
    }
    for (const LostMessage& message : lost) {
      const auto [receiver, sender] = message;
      const uint32_t blamed = messages[sender] > messages[receiver] ? sender : receiver;
      // A process that freezes has recorded at most one message that it did not send.
      const bool is_cut_off = num_messages[blamed] > 1 && messages[sender] != messages[receiver];
      if (is_cut_off) {
        lost_messages_.insert(message);
      } else {
        is_frozen_[blamed] = true;
        // Of two alone nobody else tells which: it may be the network of either.
        if (ranks_.size() == 2) is_frozen_[sender] = is_frozen_[receiver] = true;
      }
    }
  }

  // Whether a receiver says that it has posted a buffer for which the sender waits.
  bool IsMessageLost(uint32_t receiver, const ConnectionState& state) const {
    const TransferPhase phase = picture_.PhaseOf(ranks_[receiver], state);
    if (state.key.direction != Direction::kReceive || phase != TransferPhase::kReceivePosted) return false;
    ConnectionKey opposite = state.key;
    opposite.direction = Direction::kSend;
    opposite.peer = ranks_[receiver];
    const ConnectionState* sender = picture_.FindConnection(state.key.peer, opposite);
    return sender != nullptr && picture_.PhaseOf(state.key.peer, *sender) == TransferPhase::kSendWaitsForPeer &&
           IsUpToDate(ranks_[receiver], state) && IsUpToDate(state.key.peer, *sender);
  }

  std::optional<uint32_t> IndexOf(RankId rank) const {
    const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
    if (found == ranks_.end() || *found != rank) return std::nullopt;
    return static_cast<uint32_t>(found - ranks_.begin());
  }

  void AddEdge(uint32_t i, RankId peer) {
    if (const auto j = IndexOf(peer)) edges_[i].push_back(*j);
  }

  void AddLink(uint32_t i, const StuckLink& link, bool is_awaited) {
    edges_[i].push_back(static_cast<uint32_t>(edges_.size()));
    edges_.emplace_back();
    links_.push_back(link);
    is_awaited_.push_back(is_awaited);
  }

  // The message that the receiver has posted a buffer goes the other way than the data.
  void AddWaitForBuffer(uint32_t i, const ConnectionState& state) {
    const auto receiver = IndexOf(state.key.peer);
    if (receiver && lost_messages_.contains({*receiver, i})) {
      AddLink(i, {state.key.peer, ranks_[i], state.key.plane}, true);
    } else {
      AddEdge(i, state.key.peer);
    }
  }

  void AddData(uint32_t i, const ConnectionState& state) {
    ConnectionKey opposite = state.key;
    opposite.direction = Direction::kReceive;
    opposite.peer = ranks_[i];
    const ConnectionState* far = picture_.FindConnection(state.key.peer, opposite);
    const TransferPhase far_phase = far == nullptr ? TransferPhase::kIdle : picture_.PhaseOf(state.key.peer, *far);
    const bool has_arrived =
        far_phase == TransferPhase::kReceiveFlushing || far_phase == TransferPhase::kReceiveWaitsForGpu;
    if (has_arrived) {
      AddEdge(i, state.key.peer);
    } else {
      AddLink(i, {ranks_[i], state.key.peer, state.key.plane}, far == nullptr || far_phase != TransferPhase::kIdle);
    }
  }

  // Args: links: indices of links_.
  void AddSink(const std::vector<uint32_t>& sink, StuckData* data, std::vector<size_t>* links) const {
    if (sink.front() >= ranks_.size()) {
      links->push_back(sink.front() - ranks_.size());
      return;
    }
    if (std::any_of(sink.begin(), sink.end(), [&](uint32_t i) { return is_unsure_[i]; })) {
      for (const uint32_t i : sink) data->unsure.push_back(ranks_[i]);
      return;
    }
    if (is_frozen_[sink.front()]) {
      data->gpus.push_back(ranks_[sink.front()]);
      return;
    }
    std::vector<uint32_t> waiting;
    for (const uint32_t i : sink) {
      if (WaitsForGpu(i)) waiting.push_back(i);
    }
    if (waiting.empty()) {
      if (sink.size() == 1) data->absent.push_back(ranks_[sink.front()]);
      return;
    }
    std::vector<uint32_t> jammed;
    std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(jammed), [&](uint32_t i) { return IsJammed(i); });
    const std::vector<uint32_t>& stuck = jammed.empty() ? waiting : jammed;
    const bool may_relay = std::all_of(stuck.begin(), stuck.end(), [&](uint32_t i) { return MayRelay(i); });
    for (const uint32_t i : stuck) (may_relay ? data->relays : data->gpus).push_back(ranks_[i]);
  }

  // What a rank's GPU or peers have to do for one of its connections to go on.
  struct Wait {
    enum Kind : uint8_t { kForPeer, kToSend, kToReceive };
    uint16_t channel;
    Kind kind;
  };

  bool Waits(uint32_t i, uint16_t channel, Wait::Kind kind) const {
    return std::any_of(waits_[i].begin(), waits_[i].end(),
                       [&](const Wait& wait) { return wait.channel == channel && wait.kind == kind; });
  }
  bool WaitsForGpu(uint32_t i) const {
    return std::any_of(waits_[i].begin(), waits_[i].end(),
                       [](const Wait& wait) { return wait.kind != Wait::kForPeer; });
  }
  bool SharesHost(uint32_t i, uint32_t j) const {
    return picture_.ranks()[ranks_[i]].host == picture_.ranks()[ranks_[j]].host;
  }

  // Whether on some channel data has arrived at the rank's host, and what should leave does not, though no peer keeps
  // it. A host that only lacks data has none that waits to be received, one that can't get rid of it waits for a peer.
  bool IsJammed(uint32_t i) const {
    return std::any_of(waits_[i].begin(), waits_[i].end(), [&](const Wait& wait) {
      bool receives = false;
      bool sends = false;
      for (uint32_t j = 0; j < ranks_.size(); ++j) {
        if (!SharesHost(i, j)) continue;
        if (Waits(j, wait.channel, Wait::kForPeer)) return false;
        receives |= Waits(j, wait.channel, Wait::kToReceive);
        sends |= Waits(j, wait.channel, Wait::kToSend);
      }
      return receives && sends;
    });
  }

  // Whether what the rank sends may come from another GPU of its host, or what it receives go there: on that channel it
  // has a connection in one direction only.
  bool MayRelay(uint32_t i) const {
    bool has_company = false;
    for (uint32_t j = 0; j < ranks_.size(); ++j) has_company |= j != i && SharesHost(i, j);
    return has_company && std::all_of(waits_[i].begin(), waits_[i].end(), [&](const Wait& wait) {
             return wait.kind == Wait::kForPeer || !HasBothDirections(i, wait.channel);
           });
  }
  bool HasBothDirections(uint32_t i, uint16_t channel) const {
    std::array<bool, 2> has = {};
    for (const ConnectionState& state : picture_.ConnectionsOf(ranks_[i], communicator_)) {
      if (state.key.channel == channel) has[static_cast<size_t>(state.key.direction)] = true;
    }
    return has[0] && has[1];
  }

  const JobPicture& picture_;
  model::CommunicatorId communicator_;
  std::vector<RankId> ranks_;  // nodes 0 .. ranks - 1; then one for each of links_
  std::vector<StuckLink> links_;
  std::vector<bool> is_awaited_;  // [link] as far as is known, the receiver has posted a buffer
  Digraph edges_;
  std::vector<std::vector<Wait>> waits_;
  std::vector<bool> is_busy_;  // has a message under way
  std::vector<bool> is_unsure_;
  std::vector<bool> is_frozen_;          // waits for none
  std::set<LostMessage> lost_messages_;  // by the network
  const WaitGraphQuery& query_;
};

template <class T>
void SortUnique(std::vector<T>* items) {
  std::sort(items->begin(), items->end());
  items->erase(std::unique(items->begin(), items->end()), items->end());
}

}  // namespace

StuckData FindStuckData(const JobPicture& picture, model::CommunicatorId communicator, const std::vector<RankId>& ranks,
                        const WaitGraphQuery& query) {
  StuckData data = StuckGraph(picture, communicator, ranks, query).Find();
  SortUnique(&data.links);
  SortUnique(&data.gpus);
  SortUnique(&data.relays);
  SortUnique(&data.absent);
  SortUnique(&data.unsure);
  return data;
}

}  // namespace fairlead::diagnosis::c4d
