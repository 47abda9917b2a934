// Answers of `ncclras` in words. Those of real jobs were made by NCCL 2.27.7 on CPUs (tests/nccl_host): eight ranks,
// a host each, all on one machine.
#include "telemetry/ras_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/import_texts.h"

namespace fairlead::telemetry {
namespace {

using model::OperationKind;
using model::RankId;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Args: rows: of the table of communicators; errors, warnings: what is below these headings.
std::string Answer(const std::string& rows, const std::string& errors, const std::string& warnings) {
  return fmt::format(R"(NCCL version 2.27.7 compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      1          8            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
{}
Errors
======

{}Warnings
========

{})",
                     rows, errors, warnings);
}

constexpr const char* kEight = "    0         1         1         8         8         8   RUNNING  MISMATCH\n";

// Rank 3 was held back: it has launched five operations fewer.
const std::string kLate = Answer(kEight, "",
                                 R"(#0-0 (34a704fd70ae67b0) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 240
  Rank 3 has launched up to operation 235 -- GPU 3 managed by process 13426 on node 127.0.0.1

)");

// Rank 5 was stopped by a signal.
const std::string kStopped =
    Answer("    0         1         1         7         8         7   RUNNING  INCOMPLETE\n",
           R"(INCOMPLETE
  Missing communicator data from 1 job process
  Process 13428 on node 127.0.0.1 managing GPU 5

#0-0 (34a704fd70ae67b0) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 5 -- GPU 5 managed by process 13428 on node 127.0.0.1

)",
           "TIMEOUT\n  Encountered 2 communication timeouts while gathering communicator data\n\n");

// Rank 6 was killed 75 s before.
const std::string kDead = Answer("    0         1         1         7         8         7   RUNNING  INCOMPLETE\n",
                                 R"(DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 13429 on node 127.0.0.1 managing GPU 6

#0-0 (34a704fd70ae67b0) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 6 -- GPU 6 managed by process 13429 on node 127.0.0.1

)",
                                 "");

const RasRank& RankOf(const RasSnapshot& snapshot, uint64_t rank) {
  return snapshot.communicators.at(0).ranks.at(rank);
}

TEST(RasTextTest, ARankThatIsLateAndTheOthersThatAreOnlyCounted) {
  EXPECT_TRUE(IsRasText(kLate));
  EXPECT_TRUE(IsRasText("SERVER PROTOCOL 2\nOK\n" + kLate));
  const auto snapshot = ParseRasText(kLate, "late.txt");
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  ASSERT_EQ(snapshot->communicators.size(), 1u);
  EXPECT_EQ(snapshot->communicators[0].name, "34a704fd70ae67b0");
  EXPECT_EQ(snapshot->communicators[0].size, 8u);
  EXPECT_EQ(RankOf(*snapshot, 3).counts.at(OperationKind::kAllReduce), 235u);
  EXPECT_EQ(RankOf(*snapshot, 3).process, (RankProcess{"127.0.0.1", 13426, 3}));
  EXPECT_EQ(RankOf(*snapshot, 0).counts.at(OperationKind::kAllReduce), 240u);
  EXPECT_FALSE(RankOf(*snapshot, 0).is_process_known);
}

TEST(RasTextTest, RanksThatAreSilentOrDead) {
  const auto stopped = ParseRasText(kStopped, "stopped.txt");
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_TRUE(RankOf(*stopped, 5).is_missing && RankOf(*stopped, 5).is_unresponsive && !RankOf(*stopped, 5).is_dead);
  EXPECT_FALSE(RankOf(*stopped, 4).is_missing);
  const auto dead = ParseRasText(kDead, "dead.txt");
  ASSERT_TRUE(dead.ok()) << dead.status().message();
  EXPECT_TRUE(RankOf(*dead, 6).is_missing && RankOf(*dead, 6).is_dead && !RankOf(*dead, 6).is_unresponsive);
}

// Of NCCL 2.24, and in more words: from its sources.
TEST(RasTextTest, StatusErrorsAndCountsOfAllCollectives) {
  const auto snapshot =
      ParseRasText(Answer("    0         1         2       3-5         8         8     ABORT   ERROR\n",
                          R"(#0-0 (a1) ERROR
  Asynchronous error on 1 rank
  Rank 7 reported Remote process error -- GPU 1 (NVML 5) managed by process 17 on node fe80::1

)",
                          R"(#0-0 (a1) MISMATCH
  Communicator ranks have different status
  6 ranks have status RUNNING
  2 ranks have status FINALIZE
  Rank 1 -- GPU 1 managed by process 11 on node 10.0.0.1
  Rank 2 -- [process information not found]
  Communicator ranks have different collective operation counts
  6 ranks have launched up to operation 40
  Rank 0 has not launched any operations -- GPU 0 managed by process 10 on node 10.0.0.1
  Rank 4 has launched up to operation 39 -- GPU 0 managed by process 14 on node 10.0.0.2

)"),
                   "words.txt");
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  ASSERT_EQ(snapshot->communicators.size(), 1u);
  EXPECT_EQ(RankOf(*snapshot, 7).error, 6);
  EXPECT_EQ(RankOf(*snapshot, 7).process, (RankProcess{"fe80::1", 17, 1}));
  EXPECT_TRUE(RankOf(*snapshot, 1).is_finalizing && RankOf(*snapshot, 2).is_finalizing);
  EXPECT_FALSE(RankOf(*snapshot, 3).is_finalizing);
  std::vector<uint64_t> counts;
  for (uint64_t rank = 0; rank < 8; ++rank)
    counts.push_back(RankOf(*snapshot, rank).counts.at(OperationKind::kUnknown));
  EXPECT_THAT(counts, ElementsAre(0, 40, 40, 40, 39, 40, 40, 40));
}

TEST(RasTextTest, RanksThatAreApartAndNotNamedAreNotGuessed) {
  const auto snapshot = ParseRasText(Answer(kEight, "",
                                            R"(#0-0 (a1) MISMATCH
  Communicator ranks have different AllReduce operation counts
  4 ranks have launched up to operation 240
  4 ranks have launched up to operation 239
)"),
                                     "half.txt");
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  EXPECT_TRUE(RankOf(*snapshot, 0).counts.empty());
  EXPECT_THAT(snapshot->notes, Contains(HasSubstr("ncclras -v")));
}

TEST(RasTextTest, WhatIsCutOffOrWrongIsRefusedWithItsLine) {
  const auto refused = [](const std::string& text) { return ParseRasText(text, "bad.txt").status().message(); };
  EXPECT_THAT(refused(kDead.substr(0, kDead.find("Warnings"))), HasSubstr("is it all there?"));
  std::string unknown = kLate;
  unknown.replace(unknown.find("#0-0"), 4, "#9-0");
  EXPECT_THAT(refused(unknown), HasSubstr("bad.txt:24: expected a communicator"));
  std::string huge = kLate;
  huge.replace(huge.find("  8         8   RUNNING"), 3, "999999999999");
  EXPECT_THAT(refused(huge), HasSubstr("expected a row"));
  for (size_t size = 0; size < kDead.size(); ++size) (void)ParseRasText(kDead.substr(0, size), "cut.txt");
}

// In a job of its size, whose processes are not all known, the right rank is behind, silent or gone.
TEST(RasTextTest, ImportedLikeJson) {
  const auto late = ImportTexts(RecordingFormat::kRas, {{"late.txt", kLate}, {"later.txt", kLate}});
  ASSERT_TRUE(late.ok()) << late.status().message();
  EXPECT_EQ(late->layout.ranks.size(), 8u);
  EXPECT_TRUE(late->is_stalled);
  EXPECT_THAT(late->notes, Contains(HasSubstr("a minute apart")));
  const auto stopped = ImportTexts(RecordingFormat::kRas, {{"stopped.txt", kStopped}});
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_THAT(stopped->unanswered, ElementsAre(RankId(5u)));
  const auto healthy =
      ImportTexts(RecordingFormat::kRas, {{"ok.txt", Answer("    0  1  1  8  8  8   RUNNING      OK\n", "", "")}});
  ASSERT_TRUE(healthy.ok()) << healthy.status().message();
  EXPECT_EQ(healthy->layout.ranks.size(), 8u);
  EXPECT_THAT(healthy->notes, Contains(HasSubstr("counts only of ranks that differ")));
}

}  // namespace
}  // namespace fairlead::telemetry
