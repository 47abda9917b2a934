#include "experiments/c4d_runs.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/statistics.h"
#include "diagnosis/c4d/c4d_master.h"
#include "execution/job_execution.h"

namespace fairlead::experiments {

namespace {

constexpr int64_t kSecond = 1'000'000'000;

double MedianIteration(const std::vector<SimTime>& ends) {
  std::vector<double> lengths;
  for (size_t i = 1; i < ends.size() && ends[i] != SimTime::Never(); ++i) {
    lengths.push_back((ends[i] - ends[i - 1]).seconds().value());
  }
  return MedianInPlace(lengths);
}

std::vector<model::Finding> RootCauses(const std::vector<model::Finding>& findings) {
  std::set<model::FindingId> explained;
  for (const model::Finding& finding : findings) explained.insert(finding.symptoms.begin(), finding.symptoms.end());
  std::vector<model::Finding> causes;
  std::ranges::copy_if(findings, std::back_inserter(causes),
                       [&](const model::Finding& finding) { return !explained.contains(finding.id); });
  return causes;
}

template <class T, size_t Size>
T Pick(const T (&from)[Size], Random& random) {
  return from[random.Below(Size)];
}

bool NamesCulprit(const execution::ExpectedFinding& expected, model::Finding finding) {
  return std::ranges::any_of(expected.syndromes, [&](model::Syndrome syndrome) {
    finding.syndrome = syndrome;
    return Accepts(expected, finding);
  });
}

}  // namespace

WatchedRun Watch(const WatchedJob& job, SimTime end, SimDuration linger) {
  execution::JobExecution execution(job.shape, job.faults, job.noise, job.seed);
  diagnosis::c4d::C4dMaster master({});
  std::vector<model::TelemetryRecord> records;
  for (SimTime now(kSecond); now <= end; now = now + SimDuration(kSecond)) {
    records.clear();
    execution.Run(now, [&](SimTime, const model::TelemetryRecord& record) { records.push_back(record); });
    master.Handle(now, records);
    if (!master.findings().empty()) end = std::min(end, master.findings().front().confirmed + linger);
  }
  WatchedRun run;
  run.findings = RootCauses(master.findings());
  for (size_t f = 0; f < job.faults.size(); ++f) run.acted.push_back(execution.FirstActed(f));
  const std::vector<SimTime> ends = execution.IterationEnds();
  run.iterations = static_cast<uint64_t>(std::ranges::count_if(ends, [](SimTime t) { return t != SimTime::Never(); }));
  run.iteration_s = MedianIteration(ends);
  return run;
}

WatchedJob DrawJob(Random& random) {
  using execution::DataParallelAlgorithm;
  WatchedJob job;
  execution::JobShape& shape = job.shape;
  shape.tensor_parallel = Pick({1u, 1u, 2u, 4u, 8u}, random);
  shape.pipeline_parallel = Pick({1u, 1u, 2u, 4u}, random);
  shape.data_parallel = random.Below(50) == 0 ? 32 : Pick({4u, 8u, 8u, 12u, 16u}, random);
  shape.gpus_per_host = std::max(shape.tensor_parallel, Pick({1u, 2u, 4u, 8u}, random));
  shape.hosts_per_leaf = Pick({2u, 4u, 8u}, random);
  shape.planes = Pick({1u, 2u}, random);
  shape.has_rails = random.Below(2) == 0;
  shape.channels = Pick({2u, 4u}, random);
  shape.algorithm =
      Pick({DataParallelAlgorithm::kRing, DataParallelAlgorithm::kRing, DataParallelAlgorithm::kShardedRing,
            DataParallelAlgorithm::kTree, DataParallelAlgorithm::kAllToAll},
           random);
  shape.micro_batches = Pick({4u, 8u}, random);
  shape.checkpoint_every = Pick({0u, 20u}, random);
  shape.pause_every = Pick({0u, 0u, 30u}, random);
  const double level = random.Uniform(0.2, 2);
  job.noise.compute_cv *= level;
  job.noise.wire_cv *= level;
  job.noise.loading_cv *= level;
  job.noise.clock_offset_max = SimDuration(static_cast<int64_t>(random.Uniform(0, 50e6)));
  if (random.Below(2) == 0) {
    job.noise.lost = random.Uniform(0, 0.02);
    job.noise.duplicated = random.Uniform(0, 0.02);
    job.noise.delayed = random.Uniform(0, 0.02);
  }
  job.seed = random();
  // Programs that deal out tokens: each exchanges by single sends and receives before it computes.
  if (Random(CombineHash(job.seed, 1)).Below(6) == 0) shape.opening_bytes = 20'000'000;
  return job;
}

bool IsRight(const execution::ExpectedFinding& expected, const model::Finding& finding) {
  return Accepts(expected, finding) || NamesCulprit(expected, finding);
}

Judgement Judge(const execution::ExpectedFinding& expected, const WatchedRun& run) {
  if (run.findings.empty()) {
    return expected.is_required && !expected.syndromes.empty() ? Judgement::kMissed : Judgement::kRight;
  }
  const model::Finding& first = run.findings.front();
  if (first.culprits.empty()) return Judgement::kNoneNamed;
  if (!Accepts(expected, first)) {
    return NamesCulprit(expected, first) ? Judgement::kWrongSyndrome : Judgement::kWrongCulprit;
  }
  const bool all_right = std::ranges::all_of(run.findings, [&](const model::Finding& finding) {
    return finding.culprits.empty() || IsRight(expected, finding);
  });
  return all_right ? Judgement::kRight : Judgement::kInnocentBeside;
}

}  // namespace fairlead::experiments
