// What a second of a running job costs the controller: looks of all hosts taken, and the job judged by C4D.
#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "controller/job_watch.h"
#include "diagnosis/c4d/c4d_diagnosis.h"
#include "topology/clos_fabrics.h"

namespace fairlead::service {
namespace {

constexpr uint32_t kRanksPerHost = 8;
constexpr uint64_t kOperations = 8;  // a second
constexpr uint16_t kConnections = 8;
constexpr SimDuration kSecond(1'000'000'000);

topology::Fabric FabricOf(uint32_t num_hosts) {
  topology::ClosSpec spec;
  spec.hosts_per_leaf = 16;
  spec.leaves = num_hosts / 16;
  spec.spines = 4;
  return topology::BuildClos(spec).value();
}

// One rank of a healthy job, all of which is one communicator.
telemetry::SeenProcess RankAt(uint32_t rank, uint32_t num_ranks, uint64_t second, SimTime now) {
  telemetry::SeenProcess process;
  telemetry::ProcessReport& report = process.report;
  report.job = "gpt";
  report.pid = static_cast<int32_t>(100 + rank);
  report.global_rank = static_cast<int32_t>(rank);
  report.number = second;
  report.at = now;
  report.communicators = {
      {.id = 7, .name = "data", .num_ranks = num_ranks, .rank = static_cast<int32_t>(rank), .is_finalized = false}};
  const uint64_t done = (second + 1) * kOperations;
  for (uint64_t i = 0; i < kOperations; ++i) {
    model::OperationRecord operation;
    operation.communicator = model::CommunicatorId(0);
    operation.kind = model::OperationKind::kAllReduce;
    operation.sequence = operation.issue_index = done - kOperations + i;
    operation.bytes = 1 << 20;
    operation.data_type = "ncclBfloat16";
    operation.enqueued = now - SimDuration(100'000'000) * static_cast<int64_t>(kOperations + 1 - i);
    operation.started = operation.enqueued;
    operation.finished = operation.enqueued + SimDuration(50'000'000);
    report.operations.push_back(std::move(operation));
  }
  report.progress = {{.communicator = model::CommunicatorId(0),
                      .kind = model::OperationKind::kUnknown,
                      .peer = {},
                      .enqueued = done,
                      .started = done,
                      .finished = done}};
  for (uint16_t channel = 0; channel < kConnections; ++channel) {
    model::ConnectionRecord connection;
    connection.key.communicator = model::CommunicatorId(0);
    connection.key.channel = channel;
    connection.key.peer = model::RankId((rank + 1) % num_ranks);
    connection.messages = 1000;
    connection.bytes = 1 << 28;
    connection.wire_time = SimDuration(100'000'000);
    connection.wire_time_max = SimDuration(1'000'000);
    connection.wire_time_bins[7] = 1000;
    connection.last_progress = now;
    report.connections.push_back(connection);
  }
  return process;
}

// Once a second; making the looks is not counted.
void BM_WatchSecond(benchmark::State& state) {
  const auto num_ranks = static_cast<uint32_t>(state.range(0));
  const uint32_t num_hosts = num_ranks / kRanksPerHost;
  const topology::Fabric fabric = FabricOf(num_hosts);
  controller::JobWatch watch(fabric, diagnosis::c4d::DiagnoseByC4d({}), {});
  SimTime now(1'700'000'000'000'000'000);
  uint64_t second = 0;
  std::vector<controller::ProcessesSeen> looks(num_hosts);
  const auto make_looks = [&] {
    now = now + kSecond;
    for (uint32_t host = 0; host < num_hosts; ++host) {
      looks[host] = {.job = "gpt", .number = second, .at = now, .processes = {}};
      for (uint32_t i = 0; i < kRanksPerHost; ++i) {
        looks[host].processes.push_back(RankAt(host * kRanksPerHost + i, num_ranks, second, now));
      }
    }
    ++second;
  };
  const auto take = [&] {
    for (uint32_t host = 0; host < num_hosts; ++host) watch.Take(now, HostId(host), looks[host]);
    benchmark::DoNotOptimize(watch.Tick(now));
  };
  // A job that has run for a while.
  while (second < 30) {
    make_looks();
    take();
  }
  for (auto _ : state) {
    state.PauseTiming();
    make_looks();
    state.ResumeTiming();
    take();
  }
  if (watch.counters().layouts != 1 || !watch.Findings().empty()) state.SkipWithError("the job is not healthy");
}
BENCHMARK(BM_WatchSecond)->ArgName("ranks")->Arg(128)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fairlead::service
