#include "diagnosis/c4d/stuck_graph.h"

#include <algorithm>

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
    waits_for_gpu_.assign(ranks_.size(), false);
    is_busy_.assign(ranks_.size(), false);
    is_unsure_.assign(ranks_.size(), false);
  }

  StuckData Find() {
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      for (const ConnectionState& state : picture_.ConnectionsOf(ranks_[i], communicator_)) AddConnection(i, state);
    }
    StuckData data;
    std::vector<uint32_t> starts;
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      data.has_connections |= is_busy_[i];
      if (is_busy_[i]) starts.push_back(i);
    }
    for (const std::vector<uint32_t>& sink : FindReachableSinks(edges_, starts)) AddSink(sink, &data);
    return data;
  }

 private:
  void AddConnection(uint32_t i, const ConnectionState& state) {
    const SimTime last_progress = picture_.communicators()[communicator_].last_progress;
    if (query_.has_clock && !picture_.IsUpToDate(ranks_[i], state.serial, last_progress, query_.ReportDelay())) {
      is_unsure_[i] = true;
      return;
    }
    if (state.phase == TransferPhase::kIdle) return;
    is_busy_[i] = true;
    switch (state.phase) {
      case TransferPhase::kIdle:
        break;
      case TransferPhase::kSendWaitsForPeer:
      case TransferPhase::kReceivePosted:
        AddEdge(i, state.key.peer);
        break;
      case TransferPhase::kSendOnWire:
        AddLink(i, state);
        break;
      case TransferPhase::kSendWaitsForGpu:
      case TransferPhase::kReceiveFlushing:
      case TransferPhase::kReceiveWaitsForGpu:
        waits_for_gpu_[i] = true;
        break;
    }
  }

  void AddEdge(uint32_t i, RankId peer) {
    const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), peer);
    if (found != ranks_.end() && *found == peer) edges_[i].push_back(static_cast<uint32_t>(found - ranks_.begin()));
  }

  void AddLink(uint32_t i, const ConnectionState& state) {
    ConnectionKey opposite = state.key;
    opposite.direction = Direction::kReceive;
    opposite.peer = ranks_[i];
    const ConnectionState* far = picture_.FindConnection(state.key.peer, opposite);
    const bool has_arrived = far != nullptr && (far->phase == TransferPhase::kReceiveFlushing ||
                                                far->phase == TransferPhase::kReceiveWaitsForGpu);
    if (has_arrived) {
      AddEdge(i, state.key.peer);
      return;
    }
    edges_[i].push_back(static_cast<uint32_t>(edges_.size()));
    edges_.emplace_back();
    links_.push_back({ranks_[i], state.key.peer, state.key.plane});
  }

  void AddSink(const std::vector<uint32_t>& sink, StuckData* data) const {
    if (sink.front() >= ranks_.size()) {
      data->links.push_back(links_[sink.front() - ranks_.size()]);
      return;
    }
    if (std::any_of(sink.begin(), sink.end(), [&](uint32_t i) { return is_unsure_[i]; })) {
      for (const uint32_t i : sink) data->unsure.push_back(ranks_[i]);
      return;
    }
    std::vector<RankId> gpus;
    for (const uint32_t i : sink) {
      if (waits_for_gpu_[i]) gpus.push_back(ranks_[i]);
    }
    if (!gpus.empty()) {
      const bool may_relay = std::all_of(gpus.begin(), gpus.end(), [&](RankId rank) { return MayRelay(rank); });
      std::vector<RankId>& named = may_relay ? data->relays : data->gpus;
      named.insert(named.end(), gpus.begin(), gpus.end());
    } else if (sink.size() == 1) {
      data->absent.push_back(ranks_[sink.front()]);
    }
  }

  // Whether what the rank sends comes from another GPU of its host.
  bool MayRelay(RankId rank) const {
    const auto connections = picture_.ConnectionsOf(rank, communicator_);
    const bool receives = std::any_of(connections.begin(), connections.end(), [](const ConnectionState& state) {
      return state.key.direction == Direction::kReceive;
    });
    if (receives) return false;
    const uint32_t host = picture_.ranks()[rank].host;
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [&](RankId other) { return other != rank && picture_.ranks()[other].host == host; });
  }

  const JobPicture& picture_;
  model::CommunicatorId communicator_;
  std::vector<RankId> ranks_;  // nodes 0 .. ranks - 1; then one for each of links_
  std::vector<StuckLink> links_;
  Digraph edges_;
  std::vector<bool> waits_for_gpu_;
  std::vector<bool> is_busy_;  // has a message under way
  std::vector<bool> is_unsure_;
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
