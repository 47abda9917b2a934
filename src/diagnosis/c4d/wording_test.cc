#include "diagnosis/c4d/wording.h"

#include <gtest/gtest.h>

#include <set>

#include "diagnosis/c4d/c4d_master.h"
#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::Culprit;
using model::CulpritKind;
using model::PlaceNames;
using model::RankId;

// Two hosts of two GPUs; NICs are numbered as ranks.
const model::JobLayout kTwoHosts = MakeExampleLayout({.hosts = 2, .gpus = 2});

PlaceNames Names() { return {{"worker-a", "worker-b"}, {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}, {"rack-7"}}; }

Culprit CulpritOf(CulpritKind kind) {
  return {.kind = kind,
          .rank = RankId(3),
          .peer = RankId(0),
          .host = HostId(1),
          .nic = NicId(3),
          .leaf = model::LeafId(0),
          .plane = {}};
}

TEST(WordingTest, ThingsHaveTheNamesOfTheSite) {
  const auto text = [](CulpritKind kind) { return Describe(kTwoHosts, Names(), CulpritOf(kind)); };
  EXPECT_EQ(text(CulpritKind::kRank), "rank 3 (host worker-b, GPU 1)");
  EXPECT_EQ(text(CulpritKind::kHost), "host worker-b");
  EXPECT_EQ(text(CulpritKind::kNicSend), "the send side of NIC mlx5_3 of host worker-b");
  EXPECT_EQ(text(CulpritKind::kNic), "NIC mlx5_3 of host worker-b");
  EXPECT_EQ(text(CulpritKind::kConnection),
            "the connection from rank 3 (host worker-b, GPU 1) to rank 0 (host worker-a, GPU 0)");
  EXPECT_EQ(text(CulpritKind::kLeaf), "leaf switch rack-7");
  // Where no names are known, numbers are printed.
  EXPECT_EQ(Describe(kTwoHosts, PlaceNames(), CulpritOf(CulpritKind::kNicSend)), "the send side of NIC 3 of host 1");
}

// Findings of the master about a host that is gone carry its name.
TEST(WordingTest, FindingsOfTheMasterHaveTheNames) {
  C4dMaster master({}, Names());
  SimTime now(1'000'000'000'000);
  uint32_t number = 0;
  std::set<std::string> summaries;
  const std::vector<model::TelemetryRecord> layout = {kTwoHosts};
  master.Handle(now, layout);
  for (int second = 0; second < 5; ++second) {
    now = now + SimDuration(1'000'000'000);
    std::vector<model::TelemetryRecord> records;
    for (uint32_t host = 0; host < 2; ++host) {
      model::HostReport report;
      report.job = JobId(0);
      report.host = HostId(host);
      report.number = number;
      report.at = now;
      for (uint32_t gpu = 0; gpu < 2; ++gpu) {
        const bool is_dead = second >= 2 && host == 1 && gpu == 0;
        report.ranks.push_back({.rank = RankId(host * 2 + gpu),
                                .state = is_dead ? model::ProcessState::kGone : model::ProcessState::kRunning,
                                .exit = {.code = is_dead ? std::optional(-9) : std::nullopt}});
      }
      records.emplace_back(report);
    }
    ++number;
    for (const C4dAction& action : master.Handle(now, records)) summaries.insert(action.finding.summary);
  }
  EXPECT_EQ(summaries, std::set<std::string>{"The process of rank 2 (host worker-b, GPU 0) was ended by signal 9"});
}

// What is slow by little is not worth a restart, whatever kind it is and however sure the finding is; nor is what
// nobody knows the cost of.
TEST(WordingTest, NobodyIsIsolatedForLittle) {
  for (const model::Syndrome syndrome : {model::Syndrome::kCommSlow, model::Syndrome::kNonCommSlow}) {
    for (const CulpritKind kind :
         {CulpritKind::kRank, CulpritKind::kHost, CulpritKind::kNicSend, CulpritKind::kNicReceive, CulpritKind::kNic,
          CulpritKind::kConnection, CulpritKind::kLeaf, CulpritKind::kPlane}) {
      Suspect suspect;
      suspect.syndrome = syndrome;
      suspect.culprits = {CulpritOf(kind)};
      for (const double cost : {-1.0, 0.0, 0.02, 0.05, 0.099}) {
        suspect.cost = cost;
        EXPECT_NE(RecommendAction(suspect, 1), model::RecommendedAction::kIsolateAndRestart)
            << model::Name(syndrome) << ", " << model::Name(kind) << ", cost " << cost;
      }
      suspect.cost = 0.5;
      EXPECT_EQ(RecommendAction(suspect, 0.5), model::RecommendedAction::kWatch);
    }
  }
  Suspect costly;
  costly.syndrome = model::Syndrome::kNonCommSlow;
  costly.culprits = {CulpritOf(CulpritKind::kRank)};
  costly.cost = 0.1;
  EXPECT_EQ(RecommendAction(costly, 0.9), model::RecommendedAction::kWatch) << "it may be the work that it is given";
  costly.sub_cause = model::SubCause::kGpu;
  EXPECT_EQ(RecommendAction(costly, 0.9), model::RecommendedAction::kIsolateAndRestart);
  costly.syndrome = model::Syndrome::kNonCommHang;
  costly.cost = -1;
  EXPECT_EQ(RecommendAction(costly, 0.9), model::RecommendedAction::kIsolateAndRestart) << "a hang costs everything";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
