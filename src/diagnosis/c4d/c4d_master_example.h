// A job with handwritten telemetry, for the tests of the C4D master.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "diagnosis/c4d/c4d_master.h"

namespace fairlead::diagnosis::c4d {

// Two hosts of four ranks: "data 0" has all of them, "pair 0" ranks 0 and 4, "pair 1" ranks 1 and 5,
// "tensor 0" those of host 0. Every second all
// ranks do an all-reduce on "data 0"; what a test lets happen besides goes into the reports of the next second.
class HandMadeJob {
 public:
  static constexpr uint32_t kRanks = 8;
  static constexpr model::CommunicatorId kData{0};
  static constexpr model::CommunicatorId kPair0{1};
  static constexpr model::CommunicatorId kPair1{2};
  static constexpr model::CommunicatorId kHost0{3};

  explicit HandMadeJob(C4dOptions options = C4dOptions()) : master(options) {
    layout.job = JobId(1);
    model::Communicator data{"data 0", {}};
    for (uint32_t r = 0; r < kRanks; ++r) {
      model::RankPlace place;
      place.host = HostId(r / 4);
      place.gpu = r % 4;
      place.nic = NicId(r);
      place.leaves = {model::LeafId(r / 4)};
      layout.ranks.push_back(place);
      data.ranks.emplace_back(r);
    }
    layout.communicators = {data,
                            {"pair 0", {model::RankId(0), model::RankId(4)}},
                            {"pair 1", {model::RankId(1), model::RankId(5)}},
                            {"tensor 0", {model::RankId(0), model::RankId(1), model::RankId(2), model::RankId(3)}}};
    pending_.resize(kRanks);
    Send({layout});
  }

  SimTime Now() const { return SimTime::FromSeconds(Seconds(now)); }

  // Rank `r` is at this stage of its next all-reduce on `communicator`; finishing it begins the next one.
  void Do(uint32_t r, model::CommunicatorId communicator, Stage stage, uint64_t bytes = 1000) {
    uint64_t& sequence = sequences_[{r, communicator.value()}];
    model::OperationRecord record;
    record.communicator = communicator;
    record.kind = model::OperationKind::kAllReduce;
    record.sequence = record.issue_index = sequence;
    record.bytes = bytes;
    SimTime& enqueued = enqueued_at_[{r, communicator.value(), sequence}];
    if (enqueued == SimTime()) enqueued = Now() + SimDuration(++num_records_);
    record.enqueued = enqueued;
    if (stage >= Stage::kStarted) record.started = enqueued;
    if (stage == Stage::kFinished) record.finished = Now() + SimDuration(500'000'000);
    if (stage == Stage::kFinished) ++sequence;
    pending_[r].push_back(record);
  }
  void DoAll(model::CommunicatorId communicator, Stage stage, std::vector<uint32_t> except = {}) {
    for (const model::RankId rank : layout.communicators[communicator.index()].ranks) {
      if (std::find(except.begin(), except.end(), rank.value()) == except.end()) Do(rank.value(), communicator, stage);
    }
  }

  // Rank `r` is at this stage of its first send to `peer`, or its first receive from there, on "data 0".
  void BeginTransfer(uint32_t r, model::OperationKind kind, uint32_t peer, Stage stage = Stage::kStarted) {
    model::OperationRecord record;
    record.communicator = kData;
    record.kind = kind;
    record.peer = model::RankId(peer);
    record.sequence = std::ranges::count_if(pending_[r], [&](const model::OperationRecord& earlier) {
      return earlier.kind == kind && earlier.peer == record.peer;
    });
    record.enqueued = Now() + SimDuration(++num_records_);
    if (stage >= Stage::kStarted) record.started = record.enqueued;
    if (stage == Stage::kFinished) record.finished = record.enqueued;
    pending_[r].push_back(record);
  }

  // Args: start_delay: from when it is enqueued to when it starts.
  void BeginTransfer(uint32_t r, model::OperationKind kind, uint32_t peer, SimDuration start_delay) {
    BeginTransfer(r, kind, peer);
    pending_[r].back().started = pending_[r].back().enqueued + start_delay;
  }

  // The oldest message of the connection is in that phase since now.
  void Connect(uint32_t r, model::Direction direction, uint32_t peer, model::TransferPhase phase,
               model::CommunicatorId communicator = kData) {
    model::ConnectionRecord record;
    record.key.communicator = communicator;
    record.key.direction = direction;
    record.key.peer = model::RankId(peer);
    record.in_flight = phase == model::TransferPhase::kIdle ? 0 : 1;
    record.phase = phase;
    record.phase_since = Now();
    connections_[r].push_back(record);
  }

  // A second passes: all present ranks report.
  void Tick() {
    now += 1;
    std::vector<model::TelemetryRecord> records;
    for (uint32_t r = 0; r < kRanks; ++r) {
      model::RankReport report;
      report.job = layout.job;
      report.rank = model::RankId(r);
      report.number = static_cast<uint64_t>(now);
      report.at = Now() + skew[r / 4];
      report.operations = std::exchange(pending_[r], {});
      for (model::OperationRecord& record : report.operations) Shift(&record, skew[r / 4]);
      report.connections = std::exchange(connections_[r], {});
      report.is_finalizing = is_finalizing;
      report.threads = threads[r];
      if (!lost_hosts.contains(r / 4) && !lost_ranks.contains(r)) records.emplace_back(std::move(report));
    }
    for (uint32_t h = 0; h < 2; ++h) {
      model::HostReport report;
      report.job = layout.job;
      report.host = HostId(h);
      report.number = static_cast<uint64_t>(now);
      report.at = Now() + skew[h];
      for (uint32_t r = h * 4; r < h * 4 + 4; ++r) report.ranks.push_back({model::RankId(r), states[r], exits[r]});
      report.symptoms = std::exchange(symptoms[h], {});
      if (!lost_hosts.contains(h)) records.emplace_back(std::move(report));
    }
    Send(std::move(records));
  }
  void Wait(int seconds) {
    for (int i = 0; i < seconds; ++i) Tick();
  }
  // Healthy iterations: every rank completes every operation in one second.
  void Iterate(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      for (const model::CommunicatorId id : {kData, kPair0, kPair1}) DoAll(id, Stage::kFinished);
      Tick();
    }
  }

  void Send(std::vector<model::TelemetryRecord> records) {
    for (C4dAction& action : master.Handle(Now(), records)) actions.push_back(std::move(action));
    history.emplace_back(Now(), std::move(records));
  }

  // Findings that hold now.
  std::vector<model::Finding> Open() const {
    std::vector<model::Finding> open;
    for (const model::Finding& finding : master.findings()) {
      if (finding.state == model::FindingState::kConfirmed) open.push_back(finding);
    }
    return open;
  }

  model::JobLayout layout;
  C4dMaster master;
  double now = 1;
  SimDuration skew[2];
  bool is_finalizing = false;
  std::set<uint32_t> lost_hosts;
  std::set<uint32_t> lost_ranks;
  model::ProcessState states[kRanks] = {};
  model::ProcessExit exits[kRanks] = {};
  std::vector<model::ThreadGroup> threads[kRanks];
  std::vector<model::HostSymptomRecord> symptoms[2];
  std::vector<C4dAction> actions;
  std::vector<std::pair<SimTime, std::vector<model::TelemetryRecord>>> history;

 private:
  static void Shift(model::OperationRecord* record, SimDuration by) {
    record->enqueued = record->enqueued + by;
    if (record->started) record->started = *record->started + by;
    if (record->finished) record->finished = *record->finished + by;
  }

  int64_t num_records_ = 0;
  std::vector<std::vector<model::OperationRecord>> pending_;  // [rank]
  std::vector<model::ConnectionRecord> connections_[kRanks];
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> sequences_;              // (rank, communicator)
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, SimTime> enqueued_at_;  // (rank, communicator, sequence)
};

}  // namespace fairlead::diagnosis::c4d
