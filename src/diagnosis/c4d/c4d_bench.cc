// How long one tick of the C4D master takes, and how much memory a connection costs, against the size of the job: all
// reports of a second, 8 operations, those of the second before once more, and 8 connections of each rank.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <vector>

#include "diagnosis/c4d/c4d_master.h"

namespace fairlead::diagnosis::c4d {
namespace {

constexpr uint32_t kOperations = 4;  // a second on each of two communicators
constexpr uint32_t kConnections = 8;

// Ranks in data-parallel groups of 64 with a stride of 8, and tensor groups of 8 on one host.
model::JobLayout LayoutOf(uint32_t num_ranks) {
  model::JobLayout layout;
  layout.job = JobId(1);
  for (uint32_t r = 0; r < num_ranks; ++r) {
    model::RankPlace place;
    place.host = HostId(r / 8);
    place.gpu = r % 8;
    place.nic = NicId(r);
    place.leaves = {model::LeafId(r / 64)};
    layout.ranks.push_back(place);
  }
  for (uint32_t g = 0; g < num_ranks / 8; ++g) {
    model::Communicator& tensor = layout.communicators.emplace_back();
    for (uint32_t i = 0; i < 8; ++i) tensor.ranks.emplace_back(g * 8 + i);
  }
  for (uint32_t g = 0; g < num_ranks / 64; ++g) {
    model::Communicator& data = layout.communicators.emplace_back();
    for (uint32_t i = 0; i < 64; ++i) data.ranks.emplace_back(g / 8 * 512 + g % 8 + i * 8);
  }
  return layout;
}

// Everybody's reports of one second. `stuck`: operations of this second are begun and not finished, but for rank 5,
// which does not begin any.
std::vector<model::TelemetryRecord> SecondOf(const model::JobLayout& layout, uint64_t second, bool stuck) {
  std::vector<model::TelemetryRecord> records;
  const auto num_tensor = static_cast<uint32_t>(layout.ranks.size() / 8);
  const SimTime begin(static_cast<int64_t>(second) * 1'000'000'000);
  for (uint32_t r = 0; r < layout.ranks.size(); ++r) {
    model::RankReport report;
    report.job = layout.job;
    report.rank = model::RankId(r);
    report.number = second;
    report.at = begin + SimDuration(1'000'000'000);
    const uint32_t data = num_tensor + r / 512 * 8 + r % 8;
    const auto add = [&](uint64_t of_second, uint32_t i, bool has_finished) {
      model::OperationRecord record;
      record.communicator = model::CommunicatorId(i % 2 == 0 ? r / 8 : data);
      record.kind = model::OperationKind::kAllReduce;
      record.sequence = record.issue_index = of_second * kOperations + i / 2;
      record.bytes = 1 << 20;
      record.enqueued = SimTime(static_cast<int64_t>(of_second) * 1'000'000'000) + SimDuration(int64_t{i} * 1'000'000);
      record.started = record.enqueued;
      if (has_finished) record.finished = record.enqueued + SimDuration(900'000);
      report.operations.push_back(record);
    };
    for (uint32_t i = 0; second > 0 && i < 2 * kOperations; ++i) add(second - 1, i, true);
    const uint32_t num_begun = !stuck ? 2 * kOperations : r == 5 ? 0 : 2;
    for (uint32_t i = 0; i < num_begun; ++i) add(second, i, !stuck);
    report.operations_since = begin;
    for (const uint32_t communicator : {r / 8, data}) {
      const uint64_t finished = (second + (stuck ? 0 : 1)) * kOperations;
      const uint64_t begun = finished + (stuck ? num_begun / 2 : 0);
      report.progress.push_back({.communicator = model::CommunicatorId(communicator),
                                 .peer = {},
                                 .enqueued = begun,
                                 .started = begun,
                                 .finished = finished});
    }
    report.busy_connections = 0;
    for (uint32_t c = 0; c < kConnections; ++c) {
      model::ConnectionRecord record;
      record.key.communicator = model::CommunicatorId(data);
      record.key.channel = static_cast<uint16_t>(c / 2);
      record.key.direction = c % 2 == 0 ? model::Direction::kSend : model::Direction::kReceive;
      const uint32_t base = r / 512 * 512;
      record.key.peer = model::RankId(base + (r - base + (c % 2 == 0 ? 8u : 504u)) % 512);
      record.messages = stuck ? 0 : 64;
      record.bytes = record.messages << 20;
      record.wire_time = SimDuration(static_cast<int64_t>(record.messages) * 30'000 + r % 97);
      record.last_progress = report.at;
      report.connections.push_back(record);
    }
    records.emplace_back(std::move(report));
  }
  return records;
}

// A master that has received reports of all ranks for some seconds.
class TickingMaster {
 public:
  explicit TickingMaster(uint32_t num_ranks)
      : layout_(LayoutOf(num_ranks)), memory_before_(static_cast<int64_t>(mallinfo2().uordblks)) {
    master_.Handle(SimTime(1), std::vector<model::TelemetryRecord>{layout_});
    for (int i = 0; i < 5; ++i) Tick(false);
  }

  // The reports of the next second.
  std::vector<model::TelemetryRecord> NextSecond(bool is_stuck) { return SecondOf(layout_, second_++, is_stuck); }
  void Handle(const std::vector<model::TelemetryRecord>& records) {
    benchmark::DoNotOptimize(master_.Handle(now(), records));
  }
  void Tick(bool is_stuck) { Handle(NextSecond(is_stuck)); }
  void SkipSeconds(uint64_t seconds) { second_ += seconds; }

  uint64_t num_windows() const { return master_.counters().windows + master_.counters().idle_windows; }
  void Count(benchmark::State* state) const {
    const auto grown = static_cast<double>(static_cast<int64_t>(mallinfo2().uordblks) - memory_before_);
    const auto num_connections = static_cast<double>(layout_.ranks.size() * kConnections);
    state->counters["bytes_per_connection"] = grown / num_connections;
    state->counters["findings"] = static_cast<double>(master_.findings().size());
  }

 private:
  SimTime now() const { return SimTime(static_cast<int64_t>(second_) * 1'000'000'000 + 2'000'000); }

  const model::JobLayout layout_;
  const int64_t memory_before_;
  C4dMaster master_{C4dOptions()};
  uint64_t second_ = 0;
};

// Making and freeing the reports is not counted.
void BM_Tick(benchmark::State& state) {
  TickingMaster master(static_cast<uint32_t>(state.range(0)));
  const bool stuck = state.range(1) != 0;
  if (stuck) {
    master.Tick(true);
    master.SkipSeconds(15);  // beyond the suspect time
  }
  std::vector<model::TelemetryRecord> records;
  for (auto _ : state) {
    state.PauseTiming();
    records.clear();
    if (!stuck) records = master.NextSecond(false);
    state.ResumeTiming();
    master.Handle(records);
  }
  records = {};
  master.Count(&state);
}
BENCHMARK(BM_Tick)
    ->ArgNames({"ranks", "stuck"})
    ->ArgsProduct({{1024, 16384}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(9);

// The tick that ends a window of 10 s: the detectors of slow syndromes judge it.
void BM_WindowEnd(benchmark::State& state) {
  TickingMaster master(static_cast<uint32_t>(state.range(0)));
  while (master.num_windows() == 0) master.Tick(false);
  uint64_t num_windows = master.num_windows();
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 9; ++i) master.Tick(false);
    const bool has_ended = master.num_windows() > num_windows;
    std::vector<model::TelemetryRecord> records = master.NextSecond(false);
    state.ResumeTiming();
    master.Handle(records);
    state.PauseTiming();
    if (has_ended || master.num_windows() != ++num_windows) state.SkipWithError("the window ends at another tick");
    records = {};
    state.ResumeTiming();
  }
  master.Count(&state);
}
BENCHMARK(BM_WindowEnd)->ArgName("ranks")->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace fairlead::diagnosis::c4d
