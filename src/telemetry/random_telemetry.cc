#include "telemetry/random_telemetry.h"

#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace fairlead::telemetry {

namespace {

using namespace model;  // NOLINT(google-build-using-namespace): all of them are used

// Zero, small and the greatest are as likely as anything between.
template <class T>
T DrawNumber(Random& random) {
  switch (random.Below(4)) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<T>::max();
    case 2:
      return static_cast<T>(random.Below(100));
    default:
      return static_cast<T>(random() & static_cast<uint64_t>(std::numeric_limits<T>::max()));
  }
}

std::string DrawText(Random& random) {
  static const std::vector<std::string> kTexts = {
      "", "data 3", "tab\t\"quote\" \\ {}", "Grüße \u4e2d", "a\nb", std::string(1, '\0')};
  return kTexts[random.Below(kTexts.size())];
}

SimTime DrawTime(Random& random) {
  const auto ns = DrawNumber<int64_t>(random);
  return SimTime(random.Below(3) == 0 ? -ns : ns);
}

SimDuration DrawDuration(Random& random) { return SimDuration(DrawNumber<int64_t>(random)); }

RankId DrawRank(const JobLayout& layout, Random& random) { return RankId(random.Below(layout.ranks.size())); }

CommunicatorId DrawCommunicator(const JobLayout& layout, Random& random) {
  return CommunicatorId(random.Below(layout.communicators.size()));
}

OperationRecord DrawOperation(const JobLayout& layout, Random& random) {
  OperationRecord operation;
  operation.communicator = DrawCommunicator(layout, random);
  operation.kind = static_cast<OperationKind>(random.Below(kNumOperationKinds));
  operation.sequence = DrawNumber<uint64_t>(random);
  operation.issue_index = DrawNumber<uint64_t>(random);
  operation.bytes = DrawNumber<uint64_t>(random);
  operation.data_type = DrawText(random);
  const size_t size = layout.communicators[operation.communicator.index()].ranks.size();
  operation.root = static_cast<int32_t>(random.Below(size + 1)) - 1;
  if (random.Below(2) == 0) operation.peer = DrawRank(layout, random);
  operation.enqueued = DrawTime(random);
  if (random.Below(2) == 0) operation.started = DrawTime(random);
  if (random.Below(2) == 0) operation.finished = DrawTime(random);
  return operation;
}

ProgressRecord DrawProgress(const JobLayout& layout, Random& random) {
  ProgressRecord progress;
  progress.communicator = DrawCommunicator(layout, random);
  progress.kind = static_cast<OperationKind>(random.Below(kNumOperationKinds));
  if (random.Below(2) == 0) progress.peer = DrawRank(layout, random);
  progress.enqueued = DrawNumber<uint64_t>(random);
  progress.started = DrawNumber<uint64_t>(random);
  progress.finished = DrawNumber<uint64_t>(random);
  return progress;
}

ConnectionRecord DrawConnection(const JobLayout& layout, Random& random) {
  ConnectionRecord connection;
  connection.key.communicator = DrawCommunicator(layout, random);
  connection.key.channel = DrawNumber<uint16_t>(random);
  connection.key.plane = DrawNumber<uint8_t>(random);
  connection.key.direction = static_cast<Direction>(random.Below(2));
  connection.key.peer = DrawRank(layout, random);
  connection.messages = DrawNumber<uint64_t>(random);
  connection.bytes = DrawNumber<uint64_t>(random);
  connection.wire_time = DrawDuration(random);
  connection.wire_time_max = DrawDuration(random);
  for (uint64_t n = random.Below(4); n > 0; --n) {
    connection.wire_time_bins[random.Below(kNumWireTimeBins)] = DrawNumber<uint32_t>(random);
  }
  connection.wait_for_gpu = DrawDuration(random);
  connection.wait_for_peer = DrawDuration(random);
  connection.in_flight = DrawNumber<uint32_t>(random);
  connection.phase = static_cast<TransferPhase>(random.Below(7));
  connection.phase_since = DrawTime(random);
  connection.last_progress = DrawTime(random);
  return connection;
}

// `count` items of `draw`, one for each key at most.
template <class Item, class Draw, class KeyOf>
std::vector<Item> DrawDistinct(uint64_t count, const Draw& draw, const KeyOf& key_of) {
  std::map<decltype(key_of(std::declval<Item>())), Item> items;
  for (; count > 0; --count) {
    Item item = draw();
    items.emplace(key_of(item), std::move(item));
  }
  std::vector<Item> list;
  list.reserve(items.size());
  for (auto& [key, item] : items) list.push_back(std::move(item));
  return list;
}

}  // namespace

JobLayout DrawLayout(Random& random) {
  JobLayout layout;
  if (random.Below(4) != 0) layout.job = JobId(random.Below(1000));
  layout.ranks.resize(1 + random.Below(9));
  for (RankPlace& place : layout.ranks) {
    place.host = HostId(random.Below(4));
    place.gpu = DrawNumber<uint32_t>(random);
    if (random.Below(2) == 0) place.nic = NicId(random.Below(64));
    for (uint64_t n = random.Below(3); n > 0; --n) place.leaves.emplace_back(random.Below(8));
  }
  layout.communicators.resize(1 + random.Below(4));
  for (Communicator& communicator : layout.communicators) {
    communicator.name = DrawText(random);
    for (size_t rank = 0; rank < layout.ranks.size(); ++rank) communicator.ranks.emplace_back(rank);
    random.Shuffle(std::span(communicator.ranks));
    communicator.ranks.resize(random.Below(layout.ranks.size() + 1));
  }
  return layout;
}

RankReport DrawRankReport(const JobLayout& layout, Random& random) {
  RankReport report;
  report.job = layout.job;
  report.rank = DrawRank(layout, random);
  report.number = DrawNumber<uint64_t>(random);
  report.at = DrawTime(random);
  report.operations = DrawDistinct<OperationRecord>(
      random.Below(5), [&] { return DrawOperation(layout, random); },
      [](const OperationRecord& o) { return std::tuple(o.communicator, o.kind, o.sequence, o.peer); });
  if (random.Below(2) == 0) report.operations_since = DrawTime(random);
  report.progress = DrawDistinct<ProgressRecord>(
      random.Below(5), [&] { return DrawProgress(layout, random); },
      [](const ProgressRecord& p) { return std::tuple(p.communicator, p.kind, p.peer); });
  report.connections = DrawDistinct<ConnectionRecord>(
      random.Below(5), [&] { return DrawConnection(layout, random); }, [](const ConnectionRecord& c) { return c.key; });
  if (random.Below(2) == 0) report.busy_connections = DrawNumber<uint32_t>(random);
  report.is_finalizing = random.Below(4) == 0;
  return report;
}

HostReport DrawHostReport(const JobLayout& layout, Random& random) {
  HostReport report;
  report.job = layout.job;
  report.host = layout.ranks[random.Below(layout.ranks.size())].host;
  report.number = DrawNumber<uint64_t>(random);
  report.at = DrawTime(random);
  const auto draw_liveness = [&] {
    return RankLiveness{.rank = DrawRank(layout, random),
                        .state = static_cast<ProcessState>(random.Below(3)),
                        .exit_code = static_cast<int32_t>(DrawNumber<int32_t>(random)) - 1};
  };
  report.ranks =
      DrawDistinct<RankLiveness>(random.Below(4), draw_liveness, [](const RankLiveness& l) { return l.rank; });
  for (uint64_t n = random.Below(3); n > 0; --n) {
    report.symptoms.push_back(
        {static_cast<HostSymptom>(random.Below(6)), DrawNumber<uint32_t>(random), DrawText(random)});
  }
  return report;
}

std::vector<TelemetryRecord> DrawRecording(size_t num_reports, Random& random) {
  const JobLayout layout = DrawLayout(random);
  std::vector<TelemetryRecord> records = {layout};
  for (size_t i = 0; i < num_reports; ++i) {
    if (random.Below(3) == 0) {
      records.emplace_back(DrawHostReport(layout, random));
    } else {
      records.emplace_back(DrawRankReport(layout, random));
    }
  }
  return records;
}

}  // namespace fairlead::telemetry
