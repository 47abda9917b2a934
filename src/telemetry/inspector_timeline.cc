#include "telemetry/inspector_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace fairlead::telemetry {

namespace {

using model::OperationKind;
using model::RankId;

constexpr int64_t kNsPerUs = 1000;

bool IsP2p(const InspectorOperation& operation) { return IsTransfer(operation.kind) || operation.peer >= 0; }

bool HasTimes(const InspectorOperation& operation) { return operation.enqueued_us > 0; }

// What all ranks do together: one operation of a communicator. Sends and receives are of one rank only.
using JointKey = std::tuple<std::string, int64_t, OperationKind, int32_t, uint64_t>;

JointKey JointOf(const std::vector<InspectorSource>& sources, const InspectorOperation& operation) {
  const int64_t alone = IsP2p(operation) ? static_cast<int64_t>(operation.source) : -1;
  return {sources[operation.source].communicator, alone, operation.kind, operation.peer, operation.sequence};
}

struct Joint {
  int64_t dumped_us = std::numeric_limits<int64_t>::max();  // the first dump that has it
  int64_t duration_us = 0;                                  // the longest
  std::vector<size_t> operations;
};

// Ends the operations of one communicator, or the sends and receives of one rank, the last one first.
void PlaceBackwards(std::vector<Joint*>* joints, std::vector<InspectorOperation>* operations) {
  std::stable_sort(joints->begin(), joints->end(), [&](const Joint* a, const Joint* b) {
    const uint64_t a_sequence = (*operations)[a->operations.front()].sequence;
    const uint64_t b_sequence = (*operations)[b->operations.front()].sequence;
    return std::tie(a->dumped_us, a_sequence) < std::tie(b->dumped_us, b_sequence);
  });
  int64_t next_start_us = std::numeric_limits<int64_t>::max();
  for (size_t j = joints->size(); j-- > 0;) {
    const Joint& joint = *(*joints)[j];
    const int64_t end_us = std::max<int64_t>(0, std::min(joint.dumped_us, next_start_us));
    for (const size_t index : joint.operations) {
      InspectorOperation& operation = (*operations)[index];
      operation.finished_us = end_us;
      operation.started_us = operation.enqueued_us = std::max<int64_t>(0, end_us - operation.duration_us);
    }
    next_start_us = end_us - joint.duration_us;
  }
}

// Reports of one job.
class InspectorMerger {
 public:
  InspectorMerger(const std::vector<InspectorSource>& sources, std::vector<InspectorOperation>* operations,
                  const std::vector<InspectorMessage>& messages)
      : sources_(sources), operations_(*operations), messages_(messages) {}

  Result<Recording> Merge() {
    FL_RETURN_IF_ERROR(FindRanks());
    if (std::any_of(operations_.begin(), operations_.end(), [](const auto& o) { return !HasTimes(o); })) {
      recording_.notes.emplace_back(
          "Not every operation has its instants (NCCL_INSPECTOR_DUMP_VERBOSE=1 would tell them): where they are "
          "unknown, "
          "ranks are taken to end a collective together, and a late host thread looks like a late GPU.");
    }
    PlaceInTime(sources_, &operations_);
    FindBase();
    SortOperations();
    AddP2pCommunicators();
    for (const InspectorOperation& operation : operations_) AddOperation(operation);
    for (const InspectorMessage& message : messages_) AddMessage(message);
    FinishReports();
    if (num_unknown_peers_ > 0) {
      recording_.notes.push_back(
          fmt::format("{} operations or messages with a rank that wrote nothing were left out.", num_unknown_peers_));
    }
    return std::move(recording_);
  }

 private:
  Status FindRanks() {
    for (const InspectorSource& source : sources_) {
      FL_RETURN_IF_ERROR(table_.Add(source.communicator, source.size, source.rank, source.process));
    }
    table_.Number(&recording_);
    return OkStatus();
  }

  void FindBase() {
    base_us_ = std::numeric_limits<int64_t>::max();
    for (const InspectorOperation& operation : operations_) {
      base_us_ = std::min({base_us_, operation.enqueued_us, operation.dumped_us});
    }
    for (const InspectorMessage& message : messages_) base_us_ = std::min(base_us_, message.dumped_us);
  }

  SimTime At(int64_t us) const { return SimTime((us - base_us_) * kNsPerUs); }

  RankId RankOf(uint32_t source) const { return table_.RankOf(sources_[source].process); }

  // By time, so that positions of collectives are those of one common order.
  void SortOperations() {
    std::map<JointKey, int64_t> first;
    for (const InspectorOperation& operation : operations_) {
      const auto [entry, is_new] = first.try_emplace(JointOf(sources_, operation), operation.enqueued_us);
      entry->second = std::min(entry->second, operation.enqueued_us);
    }
    std::vector<std::tuple<int64_t, JointKey, uint32_t, size_t>> order;
    for (size_t i = 0; i < operations_.size(); ++i) {
      const JointKey key = JointOf(sources_, operations_[i]);
      order.emplace_back(first.at(key), key, operations_[i].source, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<InspectorOperation> sorted;
    sorted.reserve(order.size());
    for (const auto& [time, key, source, index] : order) sorted.push_back(operations_[index]);
    operations_ = std::move(sorted);
  }

  void AddP2pCommunicators() {
    for (const InspectorOperation& operation : operations_) {
      if (!IsP2p(operation)) continue;
      const std::string& name = sources_[operation.source].communicator;
      if (p2p_communicators_.contains(name)) continue;
      std::vector<model::Communicator>& communicators = recording_.layout.communicators;
      p2p_communicators_[name] = model::CommunicatorId(communicators.size());
      model::Communicator communicator = communicators[table_.CommunicatorOf(name).index()];
      communicator.name += " p2p";
      communicators.push_back(std::move(communicator));
    }
  }

  model::RankReport& ReportOf(uint32_t source, int64_t dumped_us) { return reports_[{dumped_us, RankOf(source)}]; }

  void AddOperation(const InspectorOperation& operation) {
    const std::string& name = sources_[operation.source].communicator;
    model::OperationRecord record;
    record.kind = operation.kind;
    record.bytes = operation.bytes;
    record.sequence = operation.sequence;
    if (IsP2p(operation)) {
      record.communicator = p2p_communicators_.at(name);
      record.peer = table_.MemberOf(name, static_cast<uint64_t>(std::max(operation.peer, 0)));
      record.issue_index = num_p2p_[{operation.source, record.communicator}]++;
      if (!record.peer.valid()) ++num_unknown_peers_;
      if (!record.peer.valid()) return;
      record.sequence = num_with_peer_[{operation.source, operation.kind, record.peer}]++;
    } else {
      record.communicator = table_.CommunicatorOf(name);
      const JointKey key = JointOf(sources_, operation);
      if (!reported_.emplace(operation.source, key).second) return;  // a file that was given twice
      const auto [position, is_new] = positions_.try_emplace(key, num_collectives_[record.communicator]);
      if (is_new) ++num_collectives_[record.communicator];
      record.issue_index = position->second;
    }
    record.enqueued = At(operation.enqueued_us);
    record.started = At(operation.started_us);
    record.finished = At(operation.finished_us);
    ReportOf(operation.source, operation.dumped_us).operations.push_back(std::move(record));
  }

  void AddMessage(const InspectorMessage& message) {
    const std::string& name = sources_[message.source].communicator;
    const RankId peer = table_.MemberOf(name, message.peer);
    if (!peer.valid()) {
      ++num_unknown_peers_;
      return;
    }
    model::ConnectionKey key;
    key.communicator = table_.CommunicatorOf(name);
    key.channel = message.channel;
    key.direction = message.is_send ? model::Direction::kSend : model::Direction::kReceive;
    key.peer = peer;
    model::ConnectionRecord& record = connections_[{{message.dumped_us, RankOf(message.source)}, key}];
    record.key = key;
    ++record.messages;
    record.bytes += message.bytes;
    const SimDuration wire(message.wire_us * kNsPerUs);
    record.wire_time += wire;
    record.wire_time_max = std::max(record.wire_time_max, wire);
    size_t bin = 0;
    while (bin + 1 < model::kNumWireTimeBins && (message.wire_us >> (bin + 1)) > 0) ++bin;
    if (message.is_send) ++record.wire_time_bins[bin];
    record.wait_for_gpu += SimDuration(message.wait_for_gpu_us * kNsPerUs);
    record.wait_for_peer += SimDuration(message.wait_for_peer_us * kNsPerUs);
    record.last_progress = At(message.dumped_us);
  }

  // In order of time; each report follows one of its host, which was there to write it.
  void FinishReports() {
    for (auto& [key, connection] : connections_) reports_[key.first].connections.push_back(connection);
    std::map<RankId, uint64_t> numbers;
    std::map<HostId, uint64_t> host_numbers;
    for (auto& [key, report] : reports_) {
      report.job = recording_.layout.job;
      report.rank = key.second;
      report.at = At(key.first);
      report.number = numbers[report.rank]++;
      model::HostReport host;
      host.job = report.job;
      host.host = recording_.layout.ranks[report.rank.index()].host;
      host.number = host_numbers[host.host]++;
      host.at = report.at;
      host.ranks.push_back({.rank = report.rank});
      recording_.reports.emplace_back(std::move(host));
      recording_.reports.emplace_back(std::move(report));
    }
  }

  using ReportKey = std::pair<int64_t, RankId>;  // when it was dumped, and by whom

  const std::vector<InspectorSource>& sources_;
  std::vector<InspectorOperation>& operations_;
  const std::vector<InspectorMessage>& messages_;
  RankTable table_;
  Recording recording_;
  int64_t base_us_ = 0;
  std::map<std::string, model::CommunicatorId> p2p_communicators_;
  std::set<std::pair<uint32_t, JointKey>> reported_;
  std::map<JointKey, uint64_t> positions_;
  std::map<model::CommunicatorId, uint64_t> num_collectives_;
  std::map<std::pair<uint32_t, model::CommunicatorId>, uint64_t> num_p2p_;
  std::map<std::tuple<uint32_t, OperationKind, RankId>, uint64_t> num_with_peer_;
  std::map<ReportKey, model::RankReport> reports_;
  std::map<std::pair<ReportKey, model::ConnectionKey>, model::ConnectionRecord> connections_;
  uint64_t num_unknown_peers_ = 0;
};

}  // namespace

void PlaceInTime(const std::vector<InspectorSource>& sources, std::vector<InspectorOperation>* operations) {
  std::map<JointKey, Joint> joints;
  for (size_t i = 0; i < operations->size(); ++i) {
    const InspectorOperation& operation = (*operations)[i];
    if (HasTimes(operation)) continue;
    Joint& joint = joints[JointOf(sources, operation)];
    joint.dumped_us = std::min(joint.dumped_us, operation.dumped_us);
    joint.duration_us = std::max(joint.duration_us, operation.duration_us);
    joint.operations.push_back(i);
  }
  std::map<std::pair<std::string, int64_t>, std::vector<Joint*>> lanes;
  for (auto& [key, joint] : joints) lanes[{std::get<0>(key), std::get<1>(key)}].push_back(&joint);
  for (auto& [key, lane] : lanes) PlaceBackwards(&lane, operations);
}

Result<Recording> MergeInspector(const std::vector<InspectorSource>& sources,
                                 std::vector<InspectorOperation> operations,
                                 const std::vector<InspectorMessage>& messages) {
  return InspectorMerger(sources, &operations, messages).Merge();
}

}  // namespace fairlead::telemetry
