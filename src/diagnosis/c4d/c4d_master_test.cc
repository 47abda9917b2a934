#include "diagnosis/c4d/c4d_master.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/random.h"
#include "diagnosis/c4d/c4d_master_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CulpritKind;
using model::Direction;
using model::Finding;
using model::OperationKind;
using model::Syndrome;
using model::TransferPhase;
using Job = HandMadeJob;

// The hang time is 10 s until suspect and 8 s more; a stop is reported within 1 s, and each of the two ends at a tick:
// 20 s at most.
constexpr int kHangSeconds = 20;

bool IsRank(const Finding& finding, uint32_t rank) {
  return finding.culprits.size() == 1 && finding.culprits.front().kind == CulpritKind::kRank &&
         finding.culprits.front().rank == model::RankId(rank);
}

bool IsNic(const Finding& finding, uint32_t nic) {
  return finding.culprits.size() == 1 && finding.culprits.front().kind == CulpritKind::kNic &&
         finding.culprits.front().nic == NicId(nic);
}

bool IsConnection(const Finding& finding, uint32_t from, uint32_t to) {
  return finding.culprits.size() == 1 && finding.culprits.front().kind == CulpritKind::kConnection &&
         finding.culprits.front().rank == model::RankId(from) && finding.culprits.front().peer == model::RankId(to);
}

// Ascending.
std::vector<uint32_t> CandidateRanks(const Finding& finding) {
  std::vector<uint32_t> ranks;
  for (const model::Candidate& candidate : finding.candidates) ranks.push_back(candidate.culprit.rank.value());
  std::ranges::sort(ranks);
  return ranks;
}

// As the finding says; 0: it does not.
double NumCandidates(const Finding& finding) {
  const auto said = std::ranges::find(finding.evidence, "candidates", &model::Evidence::what);
  return said == finding.evidence.end() ? 0 : said->value;
}

TEST(C4dMasterTest, HealthyJobHasNoFinding) {
  Job job;
  job.Iterate(300);
  EXPECT_TRUE(job.actions.empty());
}

// Spec 4.1, case B: 7 ranks wait in "data 0" for rank 3, which waits nowhere.
TEST(C4dMasterTest, ARankThatNeverArrivesIsNamed) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(17);
  EXPECT_TRUE(job.actions.empty());
  job.Wait(kHangSeconds - 17);
  ASSERT_EQ(job.Open().size(), 1u);
  const Finding finding = job.Open().front();
  EXPECT_EQ(finding.syndrome, Syndrome::kNonCommHang);
  EXPECT_TRUE(IsRank(finding, 3));
  EXPECT_EQ(finding.sub_cause, model::SubCause::kHostThread);
  EXPECT_EQ(finding.action, model::RecommendedAction::kIsolateAndRestart);
  EXPECT_NE(finding.summary.find("rank 3 (host 0, GPU 3)"), std::string::npos);
  EXPECT_FALSE(finding.evidence.empty());
  EXPECT_TRUE(finding.candidates.empty()) << "it is known";
}

TEST(C4dMasterTest, AHangIsProvedByWhoWaitsForWhom) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(kHangSeconds);
  const auto proof = job.master.ProofOf(job.Open().at(0).id);
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->seen_at, job.Open()[0].confirmed);
  // Seven ranks, the operation, and the one that is missing.
  ASSERT_EQ(proof->waits.nodes.size(), 3u);
  EXPECT_EQ(proof->waits.edges.size(), 2u);
  const auto culprit = std::ranges::find(proof->waits.nodes, true, &model::WaitNode::is_culprit);
  ASSERT_NE(culprit, proof->waits.nodes.end());
  EXPECT_EQ(culprit->ranks, std::vector{model::RankId(3)});
  EXPECT_TRUE(proof->delays.empty());
  EXPECT_EQ(job.master.ProofOf(model::FindingId(7)), std::nullopt);
}

TEST(C4dMasterTest, ALateGpuIsDistinguishedFromALateHostThread) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Do(3, Job::kData, Stage::kEnqueued);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open().front(), 3));
  EXPECT_EQ(job.Open().front().sub_cause, model::SubCause::kGpu);
}

// Ranks 0 and 1 have not begun "data 0": 0 waits in "pair 0" for 4, 1 in "pair 1" for 5, and 5 in "data 0". Only 4 is
// pending nowhere.
TEST(C4dMasterTest, TheWalkEndsAtWhoIsPendingNowhere) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {0, 4});
  job.Do(0, Job::kPair0, Stage::kStarted);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kNonCommHang);
  EXPECT_TRUE(IsRank(job.Open().front(), 4));
}

// 0 is inside of "pair 0" and waits for 4; 4 is inside of "data 0" and waits for 0.
TEST(C4dMasterTest, ACircleIsAMismatch) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {0});
  job.Do(0, Job::kPair0, Stage::kStarted);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kMismatch);
  EXPECT_TRUE(IsRank(job.Open().front(), 0));
  EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kReportSoftware);
}

// Spec 4.1, case C, and 4.2: 2 has sent to 3, and 3 has nothing; all ranks downstream of 3 wait for data, all upstream
// of 2 for buffers.
TEST(C4dMasterTest, ALostMessageNamesItsConnection) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  for (uint32_t r = 0; r < Job::kRanks; ++r) {
    const uint32_t next = (r + 1) % Job::kRanks;
    const bool is_upstream = r < 2;
    job.Connect(r, Direction::kSend, next,
                r == 2        ? TransferPhase::kSendOnWire
                : is_upstream ? TransferPhase::kSendWaitsForPeer
                              : TransferPhase::kSendWaitsForGpu);
    job.Connect(next, Direction::kReceive, r,
                is_upstream ? TransferPhase::kReceiveWaitsForGpu : TransferPhase::kReceivePosted);
  }
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  const Finding finding = job.Open().front();
  EXPECT_EQ(finding.syndrome, Syndrome::kCommHang);
  EXPECT_TRUE(IsConnection(finding, 2, 3)) << finding.summary;
  EXPECT_EQ(finding.action, model::RecommendedAction::kRepairPath);
}

// Likewise, and 2 has sent to 5 and 6, which have no buffers for that yet, as over sockets it can.
TEST(C4dMasterTest, DataThatIsNotAwaitedYetIsNotStuck) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  for (uint32_t r = 0; r < Job::kRanks; ++r) {
    const uint32_t next = (r + 1) % Job::kRanks;
    job.Connect(r, Direction::kSend, next, r == 2 ? TransferPhase::kSendOnWire : TransferPhase::kSendWaitsForGpu);
    job.Connect(next, Direction::kReceive, r, TransferPhase::kReceivePosted);
  }
  for (const uint32_t later : {5U, 6U}) {
    job.Connect(2, Direction::kSend, later, TransferPhase::kSendOnWire);
    job.Connect(later, Direction::kReceive, 2, TransferPhase::kIdle);
  }
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  const Finding finding = job.Open().front();
  EXPECT_EQ(finding.syndrome, Syndrome::kCommHang);
  EXPECT_TRUE(IsConnection(finding, 2, 3)) << finding.summary;
}

// 3 has stopped looking: it says that data to 4 is on the wire and that a buffer for 2 is posted; 2 waits for one.
TEST(C4dMasterTest, AFrozenProcessIsNoBrokenLink) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  for (uint32_t r = 0; r < Job::kRanks; ++r) {
    const uint32_t next = (r + 1) % Job::kRanks;
    job.Connect(r, Direction::kSend, next,
                r == 3   ? TransferPhase::kSendOnWire
                : r == 2 ? TransferPhase::kSendWaitsForPeer
                         : TransferPhase::kSendWaitsForGpu);
    job.Connect(next, Direction::kReceive, r, TransferPhase::kReceivePosted);
  }
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open().front(), 3));
}

// All exchange with all, and neither 3 nor its peers see that the other side has posted buffers. Each of them has lost
// two messages, and 3 fourteen. Seven lost messages are not a frozen process.
TEST(C4dMasterTest, UnreachableHostsAreCutOff) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  for (uint32_t r = 0; r < Job::kRanks; ++r) {
    if (r == 3) continue;
    job.Connect(3, Direction::kSend, r, TransferPhase::kSendWaitsForPeer);
    job.Connect(r, Direction::kReceive, 3, TransferPhase::kReceivePosted);
    job.Connect(r, Direction::kSend, 3, TransferPhase::kSendWaitsForPeer);
    job.Connect(3, Direction::kReceive, r, TransferPhase::kReceivePosted);
  }
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsNic(job.Open().front(), 3));
}

// 0 has posted a buffer that 4 knows nothing of. Nobody else tells which of the two does not look any more, or has lost
// its cable.
TEST(C4dMasterTest, OfTwoThatLostAMessageBetweenThemNeitherIsNamed) {
  Job job;
  job.Iterate(5);
  for (const uint32_t r : {0, 4}) job.Do(r, Job::kPair0, Stage::kStarted);
  job.Connect(4, Direction::kSend, 0, TransferPhase::kSendWaitsForPeer, Job::kPair0);
  job.Connect(0, Direction::kReceive, 4, TransferPhase::kReceivePosted, Job::kPair0);
  job.Connect(0, Direction::kSend, 4, TransferPhase::kSendWaitsForGpu, Job::kPair0);
  job.Connect(4, Direction::kReceive, 0, TransferPhase::kReceivePosted, Job::kPair0);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(job.Open().front().culprits.empty()) << job.Open().front().summary;
  EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kWatch);
  EXPECT_EQ(CandidateRanks(job.Open().front()), (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(NumCandidates(job.Open().front()), 2);
}

// That is a hang, too: nobody is named, and those that it may be are, with what speaks for each of them.
TEST(C4dMasterTest, WhoeverMayBeAtFaultIsToldWithWhatSpeaksForIt) {
  Job job;
  job.Iterate(5);
  for (const uint32_t r : {0, 4}) job.Do(r, Job::kPair0, Stage::kStarted);
  job.Connect(4, Direction::kSend, 0, TransferPhase::kSendWaitsForPeer, Job::kPair0);
  job.Connect(0, Direction::kReceive, 4, TransferPhase::kReceivePosted, Job::kPair0);
  job.Connect(0, Direction::kSend, 4, TransferPhase::kSendWaitsForGpu, Job::kPair0);
  job.Connect(4, Direction::kReceive, 0, TransferPhase::kReceivePosted, Job::kPair0);
  job.threads[4] = {{"python", model::ThreadState::kBlocked, "nfs_wait < sys_read", 1, true}};
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  const std::vector<model::Candidate> candidates = job.Open().front().candidates;
  ASSERT_EQ(candidates.size(), 2u);
  for (const model::Candidate& candidate : candidates) {
    EXPECT_FALSE(candidate.why.empty());
    // Both have stood still since second 6; the finding is of second 26 or 27.
    ASSERT_FALSE(candidate.evidence.empty());
    EXPECT_EQ(candidate.evidence.front().what, "time since it last began or ended an operation");
    EXPECT_NEAR(candidate.evidence.front().value, 20, 2);
  }
  EXPECT_EQ(candidates[0].why.find("thread"), std::string::npos) << "its kernel has told nothing";
  EXPECT_NE(candidates[1].why.find("its first thread is blocked in nfs_wait"), std::string::npos) << candidates[1].why;
}

// All have begun what has no messages to be seen, across both hosts.
TEST(C4dMasterTest, WhereNothingIsSeenOfDataAnyHostInsideMayBeAtFault) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  const Finding finding = job.Open().front();
  EXPECT_TRUE(finding.culprits.empty());
  ASSERT_EQ(finding.candidates.size(), 2u);
  for (uint32_t h = 0; h < 2; ++h) {
    EXPECT_EQ(finding.candidates[h].culprit.kind, CulpritKind::kHost);
    EXPECT_EQ(finding.candidates[h].culprit.host, HostId(h));
    EXPECT_NE(finding.candidates[h].why.find("4 ranks"), std::string::npos) << finding.candidates[h].why;
  }
}

// Of two ranks without reports either may not have begun it.
TEST(C4dMasterTest, OfSeveralWithoutReportsEachIsACandidate) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  job.lost_ranks = {2, 6};
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(job.Open().front().culprits.empty()) << job.Open().front().summary;
  ASSERT_EQ(CandidateRanks(job.Open().front()), (std::vector<uint32_t>{2, 6}));
  EXPECT_NE(job.Open().front().candidates.front().why.find("reports"), std::string::npos);
}

constexpr uint32_t kStrayed = 7;

// Seven ranks exchange first and reduce then, as seen of real NCCL; 7 does it the other way round. Transfers among the
// seven wait for their groups, whether over at one end or at none, and messages of the reduction, which proxies have
// posted already, for GPUs that have not begun it. Args: begin_transfer: of a rank of the seven to the next one.
void ExpectStrayedIsNamed(const std::function<void(Job* job, uint32_t source, uint32_t destination)>& begin_transfer) {
  Job job;
  job.Iterate(5);
  using enum model::OperationKind;
  using enum model::TransferPhase;
  job.Do(kStrayed, Job::kData, Stage::kStarted);
  for (uint32_t r = 0; r < kStrayed; ++r) {
    job.BeginTransfer(kStrayed, kSend, r, Stage::kEnqueued);
    job.BeginTransfer(r, kReceive, kStrayed);
    begin_transfer(&job, r, (r + 1) % kStrayed);
    job.Connect(r, model::Direction::kSend, r + 1, kSendWaitsForGpu);
    job.Connect(r, model::Direction::kReceive, (r + 7) % 8, r == 0 ? kReceiveWaitsForGpu : kReceivePosted);
  }
  for (uint32_t r = 0; r < kStrayed; ++r) job.Do(r, Job::kData, Stage::kEnqueued);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kMismatch) << job.Open().front().summary;
  EXPECT_TRUE(IsRank(job.Open().front(), kStrayed)) << job.Open().front().summary;
}

TEST(C4dMasterTest, WhoReducesBeforeAnExchangeIsNamed) {
  using enum model::OperationKind;
  ExpectStrayedIsNamed([](Job* job, uint32_t source, uint32_t destination) {
    job->BeginTransfer(source, kSend, destination);
    job->BeginTransfer(destination, kReceive, source, source == 1 ? Stage::kStarted : Stage::kFinished);
  });
}

// NCCL makes two kernels of each group, the second of which starts a second later.
TEST(C4dMasterTest, TransfersOfALaunchAreAGroupWheneverTheyStart) {
  using enum model::OperationKind;
  ExpectStrayedIsNamed([](Job* job, uint32_t source, uint32_t destination) {
    constexpr SimDuration kLater(1'000'000'000);
    job->BeginTransfer(source, kSend, destination, kLater);
    job->BeginTransfer(destination, kReceive, source, kLater);
  });
}

// In a pipeline each transfer is by itself: 5 has received what 2 sent, and its GPU does not take it. 2 waits for the
// next of 5, as does 3, for which 5 waits in turn. That is no circle: the transfer from 2 to 5 waits for no other.
TEST(C4dMasterTest, TransfersThatStartApartAreNoGroup) {
  Job job;
  job.Iterate(5);
  using enum model::OperationKind;
  job.BeginTransfer(2, kSend, 5);
  job.BeginTransfer(5, kReceive, 2);
  job.Connect(2, Direction::kSend, 5, TransferPhase::kSendWaitsForPeer);
  job.Connect(5, Direction::kReceive, 2, TransferPhase::kReceiveWaitsForGpu);
  job.Tick();
  job.BeginTransfer(5, kReceive, 3);
  for (const uint32_t r : {2, 3}) {
    job.BeginTransfer(r, kReceive, 5);
    job.BeginTransfer(5, kSend, r, Stage::kEnqueued);
  }
  job.BeginTransfer(3, kSend, 5, Stage::kEnqueued);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kCommHang) << job.Open().front().summary;
  EXPECT_TRUE(IsRank(job.Open().front(), 5)) << job.Open().front().summary;
}

// The same if the hosts run ahead, and have launched the next transfers of each lane at once, too.
TEST(C4dMasterTest, TransfersThatAHostLaunchesAheadAreNoGroup) {
  Job job;
  job.Iterate(5);
  using enum model::OperationKind;
  constexpr SimDuration kLater(1'000'000'000);
  job.BeginTransfer(2, kSend, 5);
  job.BeginTransfer(5, kReceive, 2);
  job.Connect(2, Direction::kSend, 5, TransferPhase::kSendWaitsForPeer);
  job.Connect(5, Direction::kReceive, 2, TransferPhase::kReceiveWaitsForGpu);
  job.BeginTransfer(5, kReceive, 3, kLater);
  for (const uint32_t r : {2, 3}) {
    job.BeginTransfer(r, kReceive, 5, kLater);
    job.BeginTransfer(5, kSend, r, Stage::kEnqueued);
  }
  job.BeginTransfer(3, kSend, 5, Stage::kEnqueued);
  job.BeginTransfer(2, kSend, 5, Stage::kEnqueued);
  job.BeginTransfer(5, kReceive, 2, Stage::kEnqueued);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kCommHang) << job.Open().front().summary;
  EXPECT_TRUE(IsRank(job.Open().front(), 5)) << job.Open().front().summary;
}

// 4 waits for 0 in one operation, 0 for 4 in another, and all others are inside of both: nobody is in a minority.
TEST(C4dMasterTest, OfACircleWithoutAMinorityEachIsACandidate) {
  Job job;
  job.layout.communicators.push_back({"data again", job.layout.communicators[0].ranks});
  constexpr model::CommunicatorId kAgain{4};
  job.Send({job.layout});
  for (int i = 0; i < 5; ++i) {
    job.DoAll(kAgain, Stage::kFinished);
    job.Iterate(1);
  }
  job.DoAll(Job::kData, Stage::kStarted, {0});
  job.DoAll(kAgain, Stage::kStarted, {4});
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  const Finding finding = job.Open().front();
  EXPECT_EQ(finding.syndrome, Syndrome::kMismatch);
  EXPECT_TRUE(finding.culprits.empty()) << finding.summary;
  ASSERT_EQ(CandidateRanks(finding), (std::vector<uint32_t>{0, 4}));
  for (const model::Candidate& candidate : finding.candidates) {
    const bool waits_again = candidate.why.find("data again") != std::string::npos;
    EXPECT_EQ(waits_again, candidate.culprit.rank == model::RankId(0)) << candidate.why;
  }
}

// The same of sends and receives, each of which has but two ranks, both with equally many lost messages between them.
TEST(C4dMasterTest, SingleTransfersAreLookedIntoTogether) {
  for (const bool is_cut_off : {true, false}) {
    Job job;
    job.Iterate(5);
    for (uint32_t r = 0; r < Job::kRanks; ++r) {
      if (r == 3) continue;
      job.BeginTransfer(3, OperationKind::kSend, r);
      job.BeginTransfer(r, OperationKind::kReceive, 3);
      job.Connect(3, Direction::kSend, r, TransferPhase::kSendWaitsForPeer);
      job.Connect(r, Direction::kReceive, 3, TransferPhase::kReceivePosted);
      job.BeginTransfer(3, OperationKind::kReceive, r);
      job.BeginTransfer(r, OperationKind::kSend, 3);
      if (!is_cut_off) continue;  // 3 has frozen before it posted
      job.Connect(r, Direction::kSend, 3, TransferPhase::kSendWaitsForPeer);
      job.Connect(3, Direction::kReceive, r, TransferPhase::kReceivePosted);
    }
    job.Wait(kHangSeconds);
    ASSERT_EQ(job.Open().size(), 1u);
    EXPECT_EQ(job.Open().front().syndrome, Syndrome::kCommHang);
    EXPECT_TRUE(is_cut_off ? IsNic(job.Open().front(), 3) : IsRank(job.Open().front(), 3));
  }
}

// Rank 3 exchanges with all others in one group, which ends as a whole; all that it says is under way is its message to
// rank 5. The others have left it behind. Where 5 has, too, 3 has not looked after the message; else it was lost.
TEST(C4dMasterTest, ThatSomeHaveLeftAGroupDoesNotMakeTheirPeerFrozen) {
  for (const bool has_arrived : {false, true}) {
    Job job;
    job.Iterate(5);
    for (uint32_t r = 0; r < Job::kRanks; ++r) {
      if (r == 3) continue;
      const Stage stage = r != 5 || has_arrived ? Stage::kFinished : Stage::kStarted;
      job.BeginTransfer(3, OperationKind::kSend, r);
      job.BeginTransfer(r, OperationKind::kReceive, 3, stage);
      job.BeginTransfer(3, OperationKind::kReceive, r);
      job.BeginTransfer(r, OperationKind::kSend, 3, stage);
    }
    job.Connect(3, Direction::kSend, 5, TransferPhase::kSendOnWire);
    if (!has_arrived) job.Connect(5, Direction::kReceive, 3, TransferPhase::kReceivePosted);
    job.Wait(kHangSeconds);
    ASSERT_EQ(job.Open().size(), 1u);
    const Finding finding = job.Open().front();
    EXPECT_EQ(finding.syndrome, Syndrome::kCommHang);
    if (has_arrived) {
      EXPECT_TRUE(IsRank(finding, 3));
    } else {
      ASSERT_EQ(finding.culprits.size(), 1u);
      EXPECT_EQ(finding.culprits[0].kind, CulpritKind::kConnection);
      EXPECT_EQ(finding.culprits[0].rank, model::RankId(3));
      EXPECT_EQ(finding.culprits[0].peer, model::RankId(5));
    }
  }
}

// A rank that froze before its peers posted: it waits for all of them, and they have sent it theirs.
TEST(C4dMasterTest, ASenderThatDoesNotListenIsNamed) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  for (const uint32_t peer : {1u, 5u, 6u}) {
    job.Connect(2, Direction::kSend, peer, TransferPhase::kSendWaitsForPeer);
    job.Connect(peer, Direction::kReceive, 2, TransferPhase::kReceivePosted);
  }
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open().front(), 2));
}

// A ring through both hosts, 0-1-2-3 and 4-5-6-7, of which the network sees 3 -> 4 and 7 -> 0. What is inside of the
// hosts is out of sight, so no rank is named: the host that has data and does not pass it on, or none.
TEST(C4dMasterTest, RelaysAreNotNamed) {
  for (const bool has_arrived : {false, true}) {
    Job job;
    job.Iterate(5);
    job.DoAll(Job::kData, Stage::kStarted);
    job.Connect(3, Direction::kSend, 4, TransferPhase::kSendWaitsForGpu);
    job.Connect(4, Direction::kReceive, 3, TransferPhase::kReceivePosted);
    job.Connect(7, Direction::kSend, 0,
                has_arrived ? TransferPhase::kSendWaitsForPeer : TransferPhase::kSendWaitsForGpu);
    job.Connect(0, Direction::kReceive, 7,
                has_arrived ? TransferPhase::kReceiveWaitsForGpu : TransferPhase::kReceivePosted);
    job.Wait(kHangSeconds);
    ASSERT_EQ(job.Open().size(), 1u);
    const Finding finding = job.Open().front();
    EXPECT_EQ(finding.syndrome, Syndrome::kCommHang);
    ASSERT_EQ(finding.culprits.size(), has_arrived ? 1u : 0u);
    if (!has_arrived) {
      EXPECT_EQ(finding.action, model::RecommendedAction::kWatch);
      continue;
    }
    EXPECT_EQ(finding.culprits.front().kind, CulpritKind::kHost);
    EXPECT_EQ(finding.culprits.front().host, HostId(0));
  }
}

// The report in which 2 may have begun "tensor 0" is lost: whether it has not, or the operation has stopped elsewhere
// inside of host 0, is unknown.
TEST(C4dMasterTest, AMissingReportBlamesNoRankOfTheHost) {
  Job job;
  for (int i = 0; i < 5; ++i) {
    job.DoAll(Job::kHost0, Stage::kFinished);
    job.Iterate(1);
  }
  job.DoAll(Job::kHost0, Stage::kStarted);
  job.lost_ranks = {2};
  job.Tick();
  job.lost_ranks.clear();
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  ASSERT_EQ(job.Open().front().culprits.size(), 1u);
  EXPECT_EQ(job.Open().front().culprits.front().kind, CulpritKind::kHost);
  EXPECT_EQ(job.Open().front().culprits.front().host, HostId(0));
}

// Data has arrived at 5 and its GPU does not take it; 6 has nothing, since 5 sends nothing.
TEST(C4dMasterTest, AGpuThatStopsInsideOfAnOperationIsNamed) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted);
  job.Connect(4, Direction::kSend, 5, TransferPhase::kSendWaitsForPeer);
  job.Connect(5, Direction::kReceive, 4, TransferPhase::kReceiveWaitsForGpu);
  job.Connect(5, Direction::kSend, 6, TransferPhase::kSendWaitsForGpu);
  job.Connect(6, Direction::kReceive, 5, TransferPhase::kReceivePosted);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kCommHang);
  EXPECT_TRUE(IsRank(job.Open().front(), 5));
}

TEST(C4dMasterTest, IdleIsNoHang) {
  Job job;
  job.Iterate(5);
  job.Wait(600);
  // All ranks have enqueued, none has started: they all compute.
  job.DoAll(Job::kData, Stage::kEnqueued);
  job.Wait(600);
  EXPECT_TRUE(job.actions.empty());
}

TEST(C4dMasterTest, ColdCommunicatorsHavePatience) {
  Job job;
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(66);  // 6 times 10 s, and 8 s to confirm
  EXPECT_TRUE(job.actions.empty());
  job.Wait(4);
  EXPECT_EQ(job.Open().size(), 1u);
}

// Rank 0 saves while the others wait: suspected after 10 s, shown after 18 s as something to watch. That it came by
// itself after 35 s is remembered: 30 s the next time are nothing new.
TEST(C4dMasterTest, ThatRank0IsBusyIsWatchedAndLearned) {
  Job job;
  job.Iterate(5);
  for (const int seconds : {35, 30}) {
    job.DoAll(Job::kData, Stage::kStarted, {0});
    job.Wait(seconds);
    job.Do(0, Job::kData, Stage::kStarted);
    job.DoAll(Job::kData, Stage::kFinished);
    job.Tick();
    job.Iterate(10);
  }
  ASSERT_EQ(job.master.findings().size(), 1u);
  EXPECT_TRUE(IsRank(job.master.findings().front(), 0));
  EXPECT_LT(job.master.findings().front().confidence, 0.5);
  EXPECT_EQ(job.master.findings().front().action, model::RecommendedAction::kWatch);
}

// What lasts 10 s of suspicion and 60 s of patience is a hang of rank 0, too.
TEST(C4dMasterTest, ThatRank0NeverComesIsAHangInTheEnd) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {0});
  job.Wait(65);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kWatch);
  job.Wait(10);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_GE(job.Open().front().confidence, 0.9);
  EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kIsolateAndRestart);
}

// Rank 6 has no telemetry: operations complete without it, so a hang of another takes no longer, and it is not blamed.
TEST(C4dMasterTest, ARankWithoutTelemetryIsNoEvidence) {
  Job job;
  job.lost_ranks = {6};
  job.Iterate(20);
  EXPECT_GT(job.master.picture()->communicators()[Job::kData].num_completed, 15u);
  EXPECT_TRUE(job.master.findings().empty());
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open().front(), 3));
}

// All others wait inside of an operation: perhaps for the one that tells nothing, but nobody knows.
TEST(C4dMasterTest, ARankThatTellsNothingIsOnlyWatched) {
  Job job;
  job.lost_ranks = {6};
  job.Iterate(20);
  job.DoAll(Job::kData, Stage::kStarted);
  job.Wait(kHangSeconds);
  for (const bool has_clock : {true, false}) {
    const std::vector<Finding> findings = has_clock ? job.Open() : job.master.AnalyzeNow();
    ASSERT_EQ(findings.size(), 1u) << has_clock;
    EXPECT_LE(findings.front().confidence, 0.6) << has_clock;
    EXPECT_EQ(findings.front().action, model::RecommendedAction::kWatch) << has_clock;
  }
}

// A minute in which nobody waited for longer than half a second: 8 s until suspect, and 8 s more.
TEST(C4dMasterTest, AHangOfASteadyJobIsSeenSooner) {
  Job job;
  job.Iterate(70);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(15);
  EXPECT_TRUE(job.actions.empty());
  job.Wait(3);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open().front(), 3));
  const std::vector<model::Evidence>& evidence = job.Open().front().evidence;
  ASSERT_FALSE(evidence.empty());
  EXPECT_EQ(evidence.front().baseline, 8) << evidence.front().what;
}

// Once everybody waited for 4 s: three times that is more than 10 s.
TEST(C4dMasterTest, WhoWaitedOnceIsAsPatientAsBefore) {
  Job job;
  job.Iterate(30);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(4);
  job.DoAll(Job::kData, Stage::kFinished);
  job.Tick();
  job.Iterate(60);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(17);
  EXPECT_TRUE(job.actions.empty());
  job.Wait(kHangSeconds - 17);
  EXPECT_EQ(job.Open().size(), 1u);
}

// An evaluation of 6 s in which nobody waits for anything is none: the communicator is idle.
TEST(C4dMasterTest, IdleTimesAreNoWaits) {
  Job job;
  for (int i = 0; i < 6; ++i) {
    job.Iterate(15);
    job.Wait(6);
  }
  EXPECT_LT(job.master.picture()->communicators()[Job::kData].waits.Longest().value_or(SimDuration(9'000'000'000)),
            SimDuration(1'000'000'000));
}

TEST(C4dMasterTest, WhatUsuallyTakesLongMayTakeLonger) {
  Job job;
  for (int i = 0; i < 5; ++i) {
    job.DoAll(Job::kData, Stage::kStarted, {3});
    job.Wait(4);
    job.DoAll(Job::kData, Stage::kFinished);
    job.Tick();
  }
  // Ten medians of 4.5 s are 45 s, and 8 s more.
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(51);
  EXPECT_TRUE(job.actions.empty());
  job.Wait(5);
  EXPECT_EQ(job.Open().size(), 1u);
}

// What its host reports of itself, each text once; of ten minutes, and no sign where it is no device that is broken.
TEST(C4dMasterTest, AFindingShowsWhatItsHostReports) {
  const auto reported = [](const Finding& finding) {
    std::vector<std::string> texts;
    for (const model::Evidence& evidence : finding.evidence) {
      if (evidence.what.find("reported by") != std::string::npos) texts.push_back(evidence.what);
    }
    return texts;
  };
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {6});
  job.states[6] = model::ProcessState::kGone;
  job.exits[6].code = -9;
  job.symptoms[1] = {{model::HostSymptom::kOutOfMemory, 0, "Out of memory: Killed process 7 (python3)"}};
  job.symptoms[0] = {{model::HostSymptom::kGpuLost, 0, "Xid 79"}};
  job.Tick();
  job.symptoms[1].push_back({model::HostSymptom::kGpuThrottled, 2, "clocks reduced"});
  job.Wait(3);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(reported(job.Open().front()),
            (std::vector<std::string>{"\"Out of memory: Killed process 7 (python3)\", reported by host 1",
                                      "\"clocks reduced\", reported by host 1, GPU 2"}))
      << "not of the host that is not accused";
  EXPECT_EQ(job.Open().front().sub_cause, model::SubCause::kProcess) << "clocks that are down end no process";
}

TEST(C4dMasterTest, OnlyABrokenDeviceOfTheAccusedIsASign) {
  const auto has_sign = [](model::HostSymptom symptom, uint32_t device, int seconds_before) {
    Job job;
    job.Iterate(5);
    job.symptoms[1] = {{symptom, device, "something"}};
    job.Iterate(1);
    job.symptoms[1].clear();
    job.Iterate(seconds_before);
    job.DoAll(Job::kData, Stage::kStarted, {6});  // GPU 2 of host 1
    job.states[6] = model::ProcessState::kGone;
    job.exits[6].code = 1;
    job.Tick();
    EXPECT_EQ(job.Open().size(), 1u);
    const std::vector<model::Sign> signs = job.Open().front().signs;
    return std::ranges::find(signs, model::Sign::kDevice) != signs.end();
  };
  EXPECT_TRUE(has_sign(model::HostSymptom::kGpuLost, 2, 0));
  EXPECT_FALSE(has_sign(model::HostSymptom::kGpuLost, 3, 0)) << "another rank's";
  EXPECT_TRUE(has_sign(model::HostSymptom::kLinkDown, 0, 0)) << "of the host";
  EXPECT_FALSE(has_sign(model::HostSymptom::kOutOfMemory, 0, 0)) << "no device";
  EXPECT_TRUE(has_sign(model::HostSymptom::kGpuLost, 2, 500));
  EXPECT_FALSE(has_sign(model::HostSymptom::kGpuLost, 2, 700)) << "long ago";
}

TEST(C4dMasterTest, ADeathIsFoundAtOnceAndWhatFollowsIsNot) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {6});
  job.states[6] = model::ProcessState::kGone;
  job.exits[6].code = 1;
  job.symptoms[1] = {{model::HostSymptom::kGpuMemoryError, 2, "Xid 48"}};
  job.Tick();
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kDead);
  EXPECT_TRUE(IsRank(job.Open().front(), 6));
  EXPECT_EQ(job.Open().front().sub_cause, model::SubCause::kGpuError);
  EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kIsolateAndRestart);
  // The launcher tears down the others.
  for (uint32_t r = 0; r < Job::kRanks; ++r) {
    if (r != 6) job.exits[r].code = 143;
    job.states[r] = model::ProcessState::kGone;
  }
  job.Wait(60);
  EXPECT_EQ(job.master.findings().size(), 1u);
}

// What a process of a hand-made job looks like that died `before_ms` before the report of the next second.
void Die(Job* job, uint32_t rank, int64_t before_ms, std::optional<int32_t> code = std::nullopt) {
  const SimTime reported = job->Now() + SimDuration(1'000'000'000) + job->skew[rank / 4];
  job->states[rank] = model::ProcessState::kGone;
  job->exits[rank] = {.code = code,
                      .end = model::ProcessEnd::kBroken,
                      .at = reported - SimDuration(before_ms * 1'000'000),
                      .within = SimDuration(0)};
}

// As in NCCL 2.30.7: rank 3 is killed, and rank 2, which waited for it, ends with an error before anybody looks.
TEST(C4dMasterTest, WhoDiesOfALostConnectionIsNoCulprit) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  Die(&job, 3, 400, -9);
  Die(&job, 2, 399, 1);
  job.Tick();
  Die(&job, 5, 100, 1);
  job.Wait(10);
  ASSERT_EQ(job.master.findings().size(), 1u);
  EXPECT_TRUE(IsRank(job.master.findings()[0], 3));
  EXPECT_EQ(job.master.findings()[0].summary, "The process of rank 3 (host 0, GPU 3) was ended by signal 9");
}

// The host of the culprit reports last, and its clock is an hour ahead.
TEST(C4dMasterTest, ADeathThatIsToldLateIsTheCauseAllTheSame) {
  Job job;
  job.skew[1] = SimDuration(3'600'000'000'000);
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {6});
  Die(&job, 2, 300);
  job.Tick();
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open()[0], 2)) << "nothing else is known";
  Die(&job, 6, 1900);
  job.Tick();
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open()[0], 6));
  job.Wait(10);
  EXPECT_EQ(job.master.findings().size(), 2u);
}

// 50 ms between two hosts may be the way of the reports.
TEST(C4dMasterTest, WhereTheOrderIsNotKnownThatIsSaid) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {2, 6});
  Die(&job, 2, 300);
  Die(&job, 6, 350);
  job.Tick();
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open()[0].culprits.size(), 2u);
  EXPECT_NE(job.Open()[0].summary.find("which was first is not known"), std::string::npos);
  EXPECT_TRUE(job.Open()[0].evidence.empty()) << "no exit code is invented";
}

TEST(C4dMasterTest, AnEndOfWhichNothingIsKnownAccusesNobody) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.states[3] = model::ProcessState::kGone;
  job.Wait(3);
  EXPECT_TRUE(job.Open().empty());
  // That the others wait for it is to be seen; nothing is to be done about its host.
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open()[0].syndrome, Syndrome::kNonCommHang);
  EXPECT_TRUE(IsRank(job.Open()[0], 3));
  EXPECT_EQ(job.Open()[0].action, model::RecommendedAction::kWatch);
}

// A single answer of NCCL's RAS: its first word about a rank is that it is dead, at the instant zero.
TEST(C4dMasterTest, ADeathMayBeTheFirstWordAboutARank) {
  Job job;
  model::HostReport report;
  report.job = job.layout.job;
  report.host = HostId(1);
  for (const uint32_t rank : {5, 6}) {
    report.ranks.push_back({.rank = model::RankId(rank),
                            .state = model::ProcessState::kGone,
                            .exit = {.end = model::ProcessEnd::kBroken}});
  }
  const std::vector<model::TelemetryRecord> records = {report};
  job.master.Handle(SimTime(), records);
  const auto findings = job.master.AnalyzeNow();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].syndrome, Syndrome::kDead);
  EXPECT_EQ(findings[0].culprits.size(), 2u) << "which was first is not known";
}

// That its process is gone is one sign, that another rank waits for it a second.
TEST(C4dMasterTest, SignsOfADeathAreCountedApart) {
  Job job;
  job.Iterate(5);
  Die(&job, 3, 400, 1);
  job.Tick();
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open()[0].signs, std::vector<model::Sign>{model::Sign::kKernel});
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Tick();
  EXPECT_EQ(job.Open()[0].signs, (std::vector<model::Sign>{model::Sign::kPeers, model::Sign::kKernel}));
  EXPECT_EQ(job.actions.back().finding.signs.size(), 2u) << "it is told";
}

// What an agent says, and its silence after that, are both its own: one that lies can do both.
TEST(C4dMasterTest, LastWordsAndSilenceAreOneSign) {
  Job job;
  job.Iterate(5);
  Die(&job, 5, 400, 1);
  job.Tick();
  job.lost_hosts = {1};
  job.Wait(20);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open()[0].syndrome, Syndrome::kDead);
  EXPECT_EQ(job.Open()[0].signs, std::vector<model::Sign>{model::Sign::kKernel});
}

TEST(C4dMasterTest, AJobThatLeavesIsNotDead) {
  Job job;
  job.Iterate(5);
  job.is_finalizing = true;
  job.Tick();
  for (model::ProcessState& state : job.states) state = model::ProcessState::kGone;
  job.Wait(3);
  job.lost_hosts = {0, 1};
  job.Wait(60);
  EXPECT_TRUE(job.actions.empty());
}

TEST(C4dMasterTest, ALostHostIsDeadOnceItsJobIsStalled) {
  Job job;
  job.Iterate(5);
  job.lost_hosts = {1};
  for (uint32_t r = 0; r < 4; ++r) job.Do(r, Job::kData, Stage::kStarted);
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kDead);
  ASSERT_EQ(job.Open().front().culprits.size(), 1u);
  EXPECT_EQ(job.Open().front().culprits.front().kind, CulpritKind::kHost);
  EXPECT_EQ(job.Open().front().culprits.front().host, HostId(1));
  // And it comes back.
  job.lost_hosts = {};
  job.DoAll(Job::kData, Stage::kFinished);
  job.Iterate(10);
  EXPECT_TRUE(job.Open().empty());
}

// The finding is not held by a host that has come back, though the job stands still for another reason.
TEST(C4dMasterTest, AHostThatIsHeardAgainIsNotDead) {
  Job job;
  job.Iterate(5);
  job.lost_hosts = {1};
  for (uint32_t r = 0; r < 4; ++r) job.Do(r, Job::kData, Stage::kStarted);
  for (int i = 0; i < kHangSeconds && job.Open().empty(); ++i) job.Wait(1);
  ASSERT_EQ(job.Open().size(), 1u);
  ASSERT_EQ(job.Open().front().syndrome, Syndrome::kDead);
  job.lost_hosts = {};
  for (uint32_t r = 4; r < 7; ++r) job.Do(r, Job::kData, Stage::kStarted);
  job.Wait(1);
  EXPECT_TRUE(std::ranges::none_of(job.Open(), [](const model::Finding& f) { return f.syndrome == Syndrome::kDead; }));
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open().front(), 7));
}

// The job went on for five seconds after the agent of host 1 fell silent, so its host was alive: that it then stands
// still for 14 s may be a checkpoint of ranks that can't be seen, and is found only if it lasts as long as a hang.
TEST(C4dMasterTest, AnAgentThatIsLostBeforeAPauseIsNoDeadHost) {
  for (const bool goes_on : {true, false}) {
    Job job;
    job.Iterate(5);
    job.lost_hosts = {1};
    for (int i = 0; i < 5; ++i) {
      for (uint32_t r = 0; r < 4; ++r) job.Do(r, Job::kData, Stage::kFinished);
      job.Tick();
    }
    for (uint32_t r = 0; r < 4; ++r) job.Do(r, Job::kData, Stage::kStarted);
    job.Wait(14);
    EXPECT_TRUE(job.Open().empty()) << job.Open().front().summary;
    if (goes_on) {
      for (int i = 0; i < 10; ++i) {
        for (uint32_t r = 0; r < 4; ++r) job.Do(r, Job::kData, Stage::kFinished);
        job.Tick();
      }
    } else {
      job.Wait(kHangSeconds - 14);
    }
    ASSERT_EQ(job.Open().size(), 1u) << goes_on;
    EXPECT_EQ(job.Open().front().syndrome, goes_on ? Syndrome::kUnreachable : Syndrome::kDead);
    EXPECT_EQ(job.Open().front().culprits.front().host, HostId(1));
  }
}

// The agent of host 1 is away. Ranks 0 and 1 go on in "pair 0" and "pair 1" with ranks of host 1: the host lives.
// Agents are restarted, streams break: that says nothing about a stall that began before, or that another rank
// explains.
TEST(C4dMasterTest, AnAgentThatIsLostDuringAHangIsNotItsCause) {
  for (const int seconds_before : {0, 2, 6}) {
    Job job;
    job.Iterate(5);
    job.DoAll(Job::kData, Stage::kStarted, {1});
    job.Wait(seconds_before);
    job.lost_hosts = {1};
    job.Wait(30);
    ASSERT_EQ(job.Open().size(), 1u) << seconds_before;
    EXPECT_EQ(job.Open()[0].syndrome, Syndrome::kNonCommHang) << seconds_before;
    ASSERT_EQ(job.Open()[0].culprits.size(), 1u);
    EXPECT_EQ(job.Open()[0].culprits[0].rank, model::RankId(1)) << seconds_before;
  }
}

// A controller that was stopped for a while hears of some hosts first.
TEST(C4dMasterTest, NobodyIsSilentWhileNobodyListens) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {4, 5, 6, 7});
  job.Tick();
  job.now += 20;
  job.lost_hosts = {1};
  job.Wait(4);
  EXPECT_TRUE(job.Open().empty());
}

// An agent of another version is refused again and again: its host is there, and nobody knows what its ranks do. It is
// named, as no other explains the hang, and left alone. Without such signs, or when they end, it is acted upon.
TEST(C4dMasterTest, AHostWhoseAgentIsRefusedIsNotSilent) {
  for (const int seconds_of_signs : {0, 25, 60}) {
    Job job;
    job.Iterate(5);
    job.lost_hosts = {1};
    job.DoAll(Job::kData, Stage::kStarted, {4, 5, 6, 7});
    for (int second = 0; second < 60; ++second) {
      const bool has_sign = second < seconds_of_signs;
      if (has_sign) job.master.NoteAnswer(job.Now(), HostId(1));
      job.Wait(1);
      if (!has_sign || job.Open().empty()) continue;
      EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kWatch) << second;
      EXPECT_LE(job.Open().front().confidence, 0.6) << second;
    }
    ASSERT_EQ(job.Open().size(), 1u);
    EXPECT_EQ(job.Open().front().culprits.front().host, HostId(1));
    if (seconds_of_signs == 60) continue;
    EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kIsolateAndRestart);
  }
}

TEST(C4dMasterTest, AnAgentThatIsLostIsUnreachable) {
  Job job;
  job.Iterate(5);
  job.lost_hosts = {1};
  for (int i = 0; i < 30; ++i) {
    for (uint32_t r = 0; r < 4; ++r) job.Do(r, Job::kData, Stage::kFinished);
    job.Tick();
  }
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kUnreachable);
  EXPECT_EQ(job.Open().front().culprits.front().host, HostId(1));
  EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kWatch);
}

TEST(C4dMasterTest, AStoppedProcessIsNamedButNotActedUpon) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {2});
  job.states[2] = model::ProcessState::kStopped;
  job.Wait(kHangSeconds);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_TRUE(IsRank(job.Open().front(), 2));
  EXPECT_EQ(job.Open().front().sub_cause, model::SubCause::kProcess);
  EXPECT_EQ(job.Open().front().action, model::RecommendedAction::kWatch);
}

TEST(C4dMasterTest, RanksThatDisagreeAreFoundBeforeAnyTimer) {
  Job job;
  job.Iterate(5);
  for (uint32_t r = 0; r < Job::kRanks; ++r) job.Do(r, Job::kData, Stage::kStarted, r == 5 ? 500 : 1000);
  job.Wait(3);
  ASSERT_EQ(job.Open().size(), 1u);
  EXPECT_EQ(job.Open().front().syndrome, Syndrome::kMismatch);
  EXPECT_TRUE(IsRank(job.Open().front(), 5));
  job.Wait(60);
  EXPECT_EQ(job.master.findings().size(), 1u);  // the hang is its consequence
}

TEST(C4dMasterTest, ARankThatContradictsItselfYieldsNoFinding) {
  Job job;
  job.Iterate(5);
  for (uint32_t r = 0; r < Job::kRanks; ++r) job.Do(r, Job::kData, Stage::kStarted, r == 5 ? 500 : 1000);
  job.Do(5, Job::kData, Stage::kStarted, 1000);
  job.Wait(3);
  job.DoAll(Job::kData, Stage::kFinished);
  job.Iterate(10);
  EXPECT_TRUE(job.actions.empty());
  EXPECT_GT(job.master.picture()->counters().contradictions, 0u);
}

TEST(C4dMasterTest, AnnouncedMaintenanceExcuses) {
  Job job;
  job.Iterate(5);
  job.master.ExcuseUntil(SimTime::FromSeconds(Seconds(100)));
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(80);
  EXPECT_TRUE(job.actions.empty());
}

TEST(C4dMasterTest, ADumpIsAnalysedWithoutAClock) {
  Job job;
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Tick();
  EXPECT_TRUE(job.actions.empty());
  const std::vector<Finding> findings = job.master.AnalyzeNow();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().syndrome, Syndrome::kNonCommHang);
  EXPECT_TRUE(IsRank(findings.front(), 3));
}

// Law: when the fault is over, the finding is cleared; it was confirmed once.
TEST(C4dMasterTest, AMendedHangIsCleared) {
  Job job;
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(40);
  ASSERT_EQ(job.Open().size(), 1u);
  job.DoAll(Job::kData, Stage::kFinished);
  job.Iterate(10);
  ASSERT_EQ(job.master.findings().size(), 1u);
  EXPECT_EQ(job.master.findings().front().state, model::FindingState::kCleared);
}

// Law: a rank that pauses for less than the hang time of a steady job is never named, however often.
TEST(C4dMasterTest, PausesBelowTheHangTimeYieldNoFinding) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Job job;
    job.Iterate(5);
    for (int i = 0; i < 10; ++i) {
      const uint32_t late = static_cast<uint32_t>(random.Below(Job::kRanks));
      job.DoAll(Job::kData, Stage::kStarted, {late});
      job.Wait(static_cast<int>(random.Below(17)));
      job.DoAll(Job::kData, Stage::kFinished);
      job.Iterate(3);
    }
    EXPECT_TRUE(job.actions.empty()) << seed;
  }
}

// Replays a history of records, with its reports repeated and shuffled within each second.
std::vector<Finding> SimulateDisturbed(const Job& job, uint64_t seed, SimDuration skew) {
  Random random(seed);
  C4dMaster master{C4dOptions()};
  for (const auto& [now, records] : job.history) {
    std::vector<model::TelemetryRecord> disturbed;
    for (const model::TelemetryRecord& record : records) {
      disturbed.push_back(record);
      if (random.Below(3) == 0) disturbed.push_back(record);
    }
    // The layout stays where it is.
    if (!std::holds_alternative<model::JobLayout>(records.front())) {
      random.Shuffle(std::span<model::TelemetryRecord>(disturbed));
    }
    master.Handle(now + skew, disturbed);
  }
  return master.findings();
}

// Laws: replay gives the same findings; so do repeated and reordered reports; the master's clock is its own.
TEST(C4dMasterTest, RepeatedAndReorderedReportsChangeNothing) {
  Job job;
  job.skew[1] = SimDuration(3'000'000'000);  // host 1 is 3 s ahead
  job.Iterate(5);
  job.DoAll(Job::kData, Stage::kStarted, {3});
  job.Wait(30);
  ASSERT_EQ(job.Open().size(), 1u);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(SimulateDisturbed(job, seed, SimDuration(0)), job.master.findings()) << seed;
    const std::vector<Finding> later = SimulateDisturbed(job, seed, SimDuration(7'000'000'000));
    ASSERT_EQ(later.size(), 1u);
    EXPECT_EQ(later.front().culprits, job.master.findings().front().culprits);
  }
}

// Law: lost reports of healthy ranks, and ranks that disappear and return, accuse no rank.
TEST(C4dMasterTest, LostReportsBlameNoRank) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Job job;
    for (int i = 0; i < 60; ++i) {
      job.lost_ranks.clear();
      for (uint32_t r = 0; r < Job::kRanks; ++r) {
        if (random.Below(10) == 0) job.lost_ranks.insert(r);
      }
      job.Iterate(1);
    }
    job.lost_ranks = {static_cast<uint32_t>(seed % Job::kRanks)};
    job.Iterate(15);
    job.lost_ranks = {};
    // Idle after losses: what was lost never comes, and is no hang.
    job.Wait(120);
    for (const Finding& finding : job.master.findings()) {
      // How the detectors of slowness take losses is theirs to test.
      const bool is_slow = finding.syndrome == Syndrome::kCommSlow || finding.syndrome == Syndrome::kNonCommSlow;
      EXPECT_TRUE(is_slow) << seed << ": " << finding.summary;
    }
  }
}

TEST(C4dMasterTest, Options) {
  EXPECT_TRUE(C4dOptions().Validate().ok());
  C4dOptions options;
  options.window.bad_windows = 6;
  EXPECT_EQ(options.Validate().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
