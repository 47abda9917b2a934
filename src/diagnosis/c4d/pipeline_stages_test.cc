#include "diagnosis/c4d/pipeline_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::OperationKind;
using model::RankId;
using testing::Each;
using testing::ElementsAre;

const auto kNoExchange = [](CommunicatorId) { return false; };

model::RankReport ReportOfOne(OperationKind kind, CommunicatorId communicator) {
  model::OperationRecord operation;
  operation.kind = kind;
  operation.communicator = communicator;
  model::RankReport report;
  report.operations.push_back(operation);
  return report;
}

TEST(PipelineStagesTest, WhereSinglesAreSentTheOrderOfRanksCounts) {
  // Communicator 0 is of host 0: ranks 0 to 3; the last one is of nobody that the layout knows.
  const model::JobLayout layout = MakeExampleLayout({.hosts = 2, .gpus = 4});
  PipelineStages stages(layout);
  EXPECT_THAT(stages.Find(kNoExchange), Each(0));
  stages.Add(ReportOfOne(OperationKind::kAllReduce, CommunicatorId(0u)));
  stages.Add(ReportOfOne(OperationKind::kSend, CommunicatorId(400u)));
  EXPECT_THAT(stages.Find(kNoExchange), Each(0)) << "collectives make no stages";
  stages.Add(ReportOfOne(OperationKind::kReceive, CommunicatorId(0u)));
  EXPECT_THAT(stages.Find(kNoExchange), ElementsAre(0, 1, 2, 3, 0, 0, 0, 0));
  EXPECT_THAT(stages.Find([](CommunicatorId id) { return id == CommunicatorId(0u); }), Each(0));
}

TEST(PipelineStagesTest, CommunicatorsOfTwoMakeChainsAndRings) {
  const auto stages_of = [](const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
    model::JobLayout layout = MakeExampleLayout({.hosts = 4, .gpus = 1});
    layout.communicators.clear();
    for (const auto& [a, b] : pairs) layout.communicators.push_back({"pair", {RankId(a), RankId(b)}});
    PipelineStages stages(layout);
    for (size_t c = 0; c < pairs.size(); ++c) stages.Add(ReportOfOne(OperationKind::kSend, CommunicatorId(c)));
    return stages.Find(kNoExchange);
  };
  EXPECT_THAT(stages_of({{2, 3}, {1, 2}, {0, 1}}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(stages_of({{3, 0}, {0, 2}, {2, 1}}), ElementsAre(2, 0, 1, 3)) << "from its end with the least rank: 1";
  EXPECT_THAT(stages_of({{0, 1}, {1, 2}, {2, 3}, {3, 0}}), ElementsAre(0, 1, 2, 3)) << "a ring";
  EXPECT_THAT(stages_of({{0, 1}, {2, 3}}), ElementsAre(0, 1, 0, 1)) << "two pipelines";
  EXPECT_THAT(stages_of({{0, 1}, {0, 2}, {0, 3}}), Each(0)) << "more than two neighbours";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
