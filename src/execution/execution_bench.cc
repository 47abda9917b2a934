// How long does it take to simulate a minute of a job, and how does that grow with its ranks?
#include <benchmark/benchmark.h>

#include "execution/job_execution.h"

namespace fairlead::execution {
namespace {

JobShape ShapeOf(int64_t ranks) {
  JobShape shape;
  shape.tensor_parallel = 8;
  shape.pipeline_parallel = ranks >= 256 ? 8 : 2;
  shape.data_parallel = static_cast<uint32_t>(ranks) / 8 / shape.pipeline_parallel;
  return shape;
}

void Simulate(benchmark::State& state, const JobShape& shape) {
  size_t iterations = 0;
  size_t records = 0;
  for (auto _ : state) {
    JobExecution job(shape, {}, NoiseOptions{}, 1);
    job.Run(SimTime(60'000'000'000), [&records](SimTime, const model::TelemetryRecord&) { ++records; });
    iterations += job.IterationEnds().size();
  }
  state.counters["iterations"] = static_cast<double>(iterations) / static_cast<double>(state.iterations());
  state.counters["records"] = static_cast<double>(records) / static_cast<double>(state.iterations());
}

// A minute of tensor, pipeline and data parallelism.
void BM_Run(benchmark::State& state) { Simulate(state, ShapeOf(state.range(0))); }
BENCHMARK(BM_Run)->ArgName("ranks")->Arg(64)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

// A minute of data parallelism alone, one ring over all ranks: the most messages.
void BM_RunOneRing(benchmark::State& state) {
  JobShape shape;
  shape.data_parallel = static_cast<uint32_t>(state.range(0));
  Simulate(state, shape);
}
BENCHMARK(BM_RunOneRing)->ArgName("ranks")->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fairlead::execution
