#include "workload/workload_summary.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collective/sequence_phases.h"

namespace fairlead::workload {

WorkloadSummary SummarizeSequence(const collective::CollectiveSequence& sequence) {
  using Key = std::tuple<collective::StepGroup, collective::CollectiveKind, collective::TrainingPass>;
  std::map<Key, CollectiveTotal> totals;
  WorkloadSummary summary;
  for (const collective::SequenceStep& step : sequence.steps) {
    summary.compute += step.compute;
    if (step.bytes <= Bytes(0)) continue;
    ++summary.num_collectives;
    CollectiveTotal& total = totals[{step.group, step.kind, step.pass}];
    total.group = step.group;
    total.kind = step.kind;
    total.pass = step.pass;
    ++total.count;
    total.bytes += step.bytes;
    if (step.overlap <= Seconds(0)) total.blocking_bytes += step.bytes;
  }
  for (const auto& [key, total] : totals) summary.totals.push_back(total);
  std::stable_sort(summary.totals.begin(), summary.totals.end(),
                   [](const CollectiveTotal& a, const CollectiveTotal& b) { return a.bytes > b.bytes; });
  const auto planned = PlanSequencePhases(sequence.steps, collective::SequenceOptions().max_rounds);
  summary.num_phases = static_cast<uint32_t>(planned.phases.size());
  return summary;
}

}  // namespace fairlead::workload
