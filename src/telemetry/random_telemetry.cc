#include "telemetry/random_telemetry.h"

#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "codec/random_archive.h"
#include "model/telemetry_fields.h"

namespace fairlead::telemetry {

namespace {

using namespace model;  // NOLINT(google-build-using-namespace): all of them are used

RankId DrawRank(const JobLayout& layout, Random& random) { return RankId(random.Below(layout.ranks.size())); }

CommunicatorId DrawCommunicator(const JobLayout& layout, Random& random) {
  return CommunicatorId(random.Below(layout.communicators.size()));
}

// Any values; ids are those of the layout.
OperationRecord DrawOperation(const JobLayout& layout, Random& random) {
  auto operation = codec::RandomRecord<OperationRecord>(&random);
  operation.communicator = DrawCommunicator(layout, random);
  const size_t size = layout.communicators[operation.communicator.index()].ranks.size();
  operation.root = static_cast<int32_t>(random.Below(size + 1)) - 1;
  if (operation.peer.valid()) operation.peer = DrawRank(layout, random);
  return operation;
}

ProgressRecord DrawProgress(const JobLayout& layout, Random& random) {
  auto progress = codec::RandomRecord<ProgressRecord>(&random);
  progress.communicator = DrawCommunicator(layout, random);
  if (progress.peer.valid()) progress.peer = DrawRank(layout, random);
  return progress;
}

ConnectionRecord DrawConnection(const JobLayout& layout, Random& random) {
  auto connection = codec::RandomRecord<ConnectionRecord>(&random);
  connection.key.communicator = DrawCommunicator(layout, random);
  connection.key.peer = DrawRank(layout, random);
  for (SimDuration* sum :
       {&connection.wire_time, &connection.wire_time_max, &connection.wait_for_gpu, &connection.wait_for_peer}) {
    *sum = SimDuration(sum->ns() & std::numeric_limits<int64_t>::max());
  }
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
    place.gpu = codec::AnyInteger<uint32_t>(&random);
    if (random.Below(2) == 0) place.nic = NicId(random.Below(64));
    for (uint64_t n = random.Below(3); n > 0; --n) place.leaves.emplace_back(random.Below(8));
  }
  layout.communicators.resize(1 + random.Below(4));
  for (Communicator& communicator : layout.communicators) {
    communicator.name = codec::AnyText(&random);
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
  report.number = codec::AnyInteger<uint64_t>(&random);
  report.at = SimTime(codec::AnyInteger<int64_t>(&random));
  report.operations = DrawDistinct<OperationRecord>(
      random.Below(5), [&] { return DrawOperation(layout, random); },
      [](const OperationRecord& o) { return std::tuple(o.communicator, o.kind, o.sequence, o.peer); });
  if (random.Below(2) == 0) report.operations_since = SimTime(codec::AnyInteger<int64_t>(&random));
  report.progress = DrawDistinct<ProgressRecord>(
      random.Below(5), [&] { return DrawProgress(layout, random); },
      [](const ProgressRecord& p) { return std::tuple(p.communicator, p.kind, p.peer); });
  report.connections = DrawDistinct<ConnectionRecord>(
      random.Below(5), [&] { return DrawConnection(layout, random); }, [](const ConnectionRecord& c) { return c.key; });
  if (random.Below(2) == 0) report.busy_connections = codec::AnyInteger<uint32_t>(&random);
  report.is_finalizing = random.Below(4) == 0;
  for (uint64_t n = random.Below(3); n > 0; --n) {
    report.threads.push_back({.name = codec::AnyText(&random),
                              .state = static_cast<model::ThreadState>(random.Below(5)),
                              .place = codec::AnyText(&random),
                              .count = codec::AnyInteger<uint32_t>(&random),
                              .is_first = random.Below(2) == 0});
  }
  return report;
}

HostReport DrawHostReport(const JobLayout& layout, Random& random) {
  HostReport report;
  report.job = layout.job;
  report.host = layout.ranks[random.Below(layout.ranks.size())].host;
  report.number = codec::AnyInteger<uint64_t>(&random);
  report.at = SimTime(codec::AnyInteger<int64_t>(&random));
  const auto draw_liveness = [&] {
    return RankLiveness{.rank = DrawRank(layout, random),
                        .state = static_cast<ProcessState>(random.Below(3)),
                        .exit = {.code = codec::AnyInteger<int32_t>(&random)}};
  };
  report.ranks =
      DrawDistinct<RankLiveness>(random.Below(4), draw_liveness, [](const RankLiveness& l) { return l.rank; });
  for (uint64_t n = random.Below(3); n > 0; --n) {
    report.symptoms.push_back(
        {static_cast<HostSymptom>(random.Below(6)), codec::AnyInteger<uint32_t>(&random), codec::AnyText(&random)});
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
