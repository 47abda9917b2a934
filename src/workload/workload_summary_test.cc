#include "workload/workload_summary.h"

#include <gtest/gtest.h>

#include <sstream>

#include "workload/simai_workload.h"

namespace fairlead::workload {
namespace {

TEST(WorkloadSummaryTest, AddsUpByGroupKindAndPass) {
  std::istringstream input(
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 pp: 2 ga: 3 pp_comm: 5\n2\n"
      "a -1 10 ALLREDUCE 100 20 ALLREDUCE 200 30 ALLREDUCE 7 1\n"
      "b -1 10 ALLREDUCE 150 20 NONE 0 30 ALLREDUCE 8 1\n");
  const WorkloadSummary summary = SummarizeSequence(ParseSimaiWorkload(input, "w").value());
  EXPECT_DOUBLE_EQ(summary.compute.value(), 120e-9);
  EXPECT_EQ(summary.num_collectives, 7u);  // three forward and back, two gradients, two pipeline messages
  ASSERT_EQ(summary.totals.size(), 5u);
  EXPECT_EQ(ToString(summary.totals[0].group), "tp");
  EXPECT_EQ(summary.totals[0].bytes, Bytes(250));
  EXPECT_EQ(summary.totals[0].count, 2u);
  EXPECT_EQ(summary.totals[0].blocking_bytes, Bytes(250));
  EXPECT_EQ(summary.totals[1].bytes, Bytes(200));
  EXPECT_EQ(ToString(summary.totals[4].group), "pp");  // 3 * 5, forward; the same back, and dp: 15 each
  for (const auto& total : summary.totals) {
    const bool is_data = total.group.kind == collective::StepGroup::Kind::kData;
    EXPECT_EQ(total.blocking_bytes, is_data ? Bytes(0) : total.bytes);
  }
  EXPECT_GE(summary.num_phases, 5u);
  EXPECT_LE(summary.num_phases, 7u);
}

}  // namespace
}  // namespace fairlead::workload
