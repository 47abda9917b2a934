// How long do the detectors of slow syndromes take for jobs of many ranks?
#include <benchmark/benchmark.h>

#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/delay_matrix.h"
#include "diagnosis/c4d/job_example.h"
#include "diagnosis/c4d/random_delays.h"
#include "diagnosis/c4d/slow_transfer_detector.h"

namespace fairlead::diagnosis::c4d {
namespace {

// Rings over all ranks in two orders, as two channels make them.
void BM_DelayMatrix(benchmark::State& state) {
  const auto n = static_cast<uint32_t>(state.range(0));
  Random random(1);
  std::vector<DelayCell> cells = MakeRingDelays(n, 0.05, random);
  for (uint32_t y = 0; y < n; ++y) cells.push_back({y, (y + 8) % n, 3e-11 * LogNormal(random, 0.05)});
  for (auto _ : state) benchmark::DoNotOptimize(ScoreDelays(cells, n, n));
}
BENCHMARK(BM_DelayMatrix)->ArgName("ranks")->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);

void BM_DelayMatrixDense(benchmark::State& state) {
  const auto n = static_cast<uint32_t>(state.range(0));
  Random random(1);
  const std::vector<DelayCell> cells = MakeDenseDelays(n, 0.2, random);
  for (auto _ : state) benchmark::DoNotOptimize(ScoreDelays(cells, n, n));
}
BENCHMARK(BM_DelayMatrixDense)->ArgName("ranks")->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

// One window: two channels of a ring over GPUs of equal index, a host slow; ten reports a rank.
void BM_SlowTransfers(benchmark::State& state) {
  const auto num_ranks = static_cast<uint32_t>(state.range(0));
  const model::JobLayout layout =
      MakeExampleLayout({.hosts = num_ranks / 8, .gpus = 8, .hosts_per_leaf = 16, .planes = 2});
  Random random(1);
  std::vector<model::RankReport> reports(num_ranks);
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    reports[rank].rank = model::RankId(rank);
    for (uint8_t plane = 0; plane < 2; ++plane) {
      model::ConnectionRecord record;
      record.key = {model::CommunicatorId(0u), plane, plane, model::Direction::kSend,
                    model::RankId((rank + 8) % num_ranks)};
      record.messages = 40;
      record.bytes = 160'000'000;
      const double slowness = rank / 8 == 5 ? 2 : 1;
      record.wire_time = SimDuration::FromSeconds(Seconds(40 * 200e-6 * slowness * LogNormal(random, 0.03)));
      record.wire_time_max = SimDuration(300'000);
      reports[rank].connections.push_back(record);
    }
  }
  SlowTransferDetector detector(layout, {});
  uint64_t number = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int second = 0; second < 10; ++second, ++number) {
      for (model::RankReport& report : reports) {
        report.number = number;
        detector.Add(report);
      }
    }
    state.ResumeTiming();
    benchmark::DoNotOptimize(detector.EndWindow(SimTime()));
  }
}
BENCHMARK(BM_SlowTransfers)->ArgName("ranks")->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fairlead::diagnosis::c4d
