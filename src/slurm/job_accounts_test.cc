// What is kept of what we did to jobs, what of it comes into their comments, and that a death at any moment, or a Slurm
// that is away, loses and repeats nothing.
#include "slurm/job_accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/cluster_reader.h"
#include "slurm/fake_slurm_example.h"
#include "slurm/intention_records.h"
#include "slurm/job_comment.h"
#include "slurm/mortal_example.h"
#include "store/memory_store.h"

namespace fairlead::slurm {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr double kNoon = 1'795'867'200;  // 2026-11-28T12:00Z

class JobAccountsTest : public testing::Test {
 protected:
  JobAccountsTest() {
    for (const uint32_t id : {7u, 8u}) {
      FakeJob job;
      job.owner = 1000 + id;
      slurm_.Start(id, job).comment = id == 7 ? "my best run" : "a stranger's";
    }
    slurm_.changes.clear();
    Open();
  }

  void Open(Programs* programs = nullptr, store::Store* store = nullptr) {
    WriterOptions options;
    options.sleep = [](std::chrono::milliseconds) {};
    auto accounts =
        JobAccounts::Create(programs != nullptr ? programs : &slurm_, store != nullptr ? store : &store_, options);
    ASSERT_TRUE(accounts.ok()) << accounts.status().message();
    accounts_ = std::move(accounts).value();
  }
  Status Tell() {
    const auto state = ProgramReader(&slurm_).ReadAll();
    return state.ok() ? accounts_->TellComments(state->jobs) : state.status();
  }
  void Add(double at_s, const std::string& text, const std::string& action = "") {
    EXPECT_TRUE(accounts_->Add(7, 1007, {at_s, "size", text, action}).ok());
  }

  FakeSlurm slurm_;
  store::MemoryStore store_;
  std::unique_ptr<JobAccounts> accounts_;
};

TEST_F(JobAccountsTest, NewsComeIntoTheCommentBesideTheUsers) {
  EXPECT_TRUE(Tell().ok());
  EXPECT_THAT(slurm_.changes, IsEmpty());
  Add(kNoon, "4 nodes, h[0-3]: started");
  Add(kNoon + 300, "finding 7: rank 3; \"hangs\"");
  EXPECT_TRUE(Tell().ok());
  EXPECT_EQ(slurm_.jobs[7].comment,
            "my best run [fairlead: 2026-11-28T12:05Z finding 7: rank 3, ?hangs? - 2026-11-28T12:00Z 4 nodes, "
            "h(0-3): started]");
  EXPECT_EQ(slurm_.jobs[8].comment, "a stranger's");
  EXPECT_THAT(slurm_.changes, ElementsAre(HasSubstr("scontrol update JobId=7 Comment=my best run [fairlead:")));
  // No news, no command: not with the next readings, not for the next controller, not because the user took it out.
  EXPECT_TRUE(Tell().ok());
  Open();
  slurm_.jobs[7].comment = "better";
  EXPECT_TRUE(Tell().ok());
  EXPECT_THAT(slurm_.changes, SizeIs(1));
  Add(kNoon + 600, "2 nodes");
  EXPECT_TRUE(Tell().ok());
  EXPECT_THAT(slurm_.jobs[7].comment, testing::StartsWith("better [fairlead: 2026-11-28T12:10Z 2 nodes - "));
  EXPECT_EQ(ReadIntentions(store_)->size(), 0u);
}

TEST_F(JobAccountsTest, WhatIsKeptIsBounded) {
  for (int i = 0; i < 50; ++i) Add(kNoon + i, fmt::format("{} {}", i, std::string(1000, 'x')));
  const auto account = accounts_->Of(7);
  ASSERT_THAT(account->entries, SizeIs(JobAccounts::kNumEntriesMax));
  EXPECT_EQ(account->num_left_out, 30u);
  EXPECT_THAT(account->entries.back().text, testing::StartsWith("49 "));
  EXPECT_EQ(account->entries.back().text.size(), JobAccounts::kTextBytesMax);
  EXPECT_LE(SummaryOf(*account).size(), kAccountTextBytesMax);
  EXPECT_THAT(SummaryOf(*account), HasSubstr(" - 2026-11-28T12:00Z 48 ")) << "more than the last one";
  for (uint32_t job = 100; job < 100 + JobAccounts::kNumAccountsMax; ++job) {
    ASSERT_TRUE(accounts_->Add(job, 1, {kNoon + job, "size", "x"}).ok());
  }
  EXPECT_FALSE(accounts_->Of(7).has_value()) << "nothing was done to it for longest";
  EXPECT_TRUE(accounts_->Of(100).has_value());
  EXPECT_EQ(store_.List("slurm/account/")->size(), JobAccounts::kNumAccountsMax);
}

TEST_F(JobAccountsTest, AStepThatComesAgainIsToldOnce) {
  Add(kNoon, "h1 is isolated", "12 isolate_host");
  Add(kNoon + 60, "h1 is isolated", "12 isolate_host");
  EXPECT_THAT(accounts_->Of(7)->entries, SizeIs(1));
  Add(kNoon, "2 nodes");
  Add(kNoon, "2 nodes");
  EXPECT_THAT(accounts_->Of(7)->entries, SizeIs(3)) << "sizes come again";
}

TEST_F(JobAccountsTest, AStrangersJobOfTheSameNumberIsLeftAlone) {
  Add(kNoon, "2 nodes");
  slurm_.jobs[7].owner = 2000;
  EXPECT_TRUE(Tell().ok());
  EXPECT_THAT(slurm_.changes, IsEmpty());
  ASSERT_TRUE(accounts_->Add(7, 2000, {kNoon, "size", "3 nodes"}).ok());
  EXPECT_THAT(accounts_->Of(7)->entries, SizeIs(1)) << "what was done to another job is none of it";
}

TEST_F(JobAccountsTest, CommentsWithoutRoomAndArraysStay) {
  slurm_.jobs[7].comment = std::string(1020, 'u');
  Add(kNoon, "2 nodes");
  EXPECT_TRUE(Tell().ok());
  EXPECT_TRUE(Tell().ok());
  slurm_.jobs[7].comment = "short";
  slurm_.jobs[7].is_array = true;
  Add(kNoon + 60, "3 nodes");
  EXPECT_TRUE(Tell().ok());
  EXPECT_EQ(slurm_.jobs[7].comment, "short");
  EXPECT_THAT(slurm_.changes, IsEmpty());
  EXPECT_EQ(ReadIntentions(store_)->size(), 0u);
}

// What users write is handed on as it is: no shell, no fields, no lines.
TEST_F(JobAccountsTest, HostileCommentsComeBackByteByByte) {
  for (const std::string users :
       {"a|b|1001|RUNNING", "line\nJobId=8 Comment=evil", "'; scancel 8; '", "$(reboot) `reboot`", "\"", "=",
        "8|x\n8|y", "{\"APS\": \"\\u0000\"}", "\xff\xfe", "-v --help"}) {
    slurm_.jobs[7].comment = users;
    Add(kNoon, "2 nodes " + std::to_string(slurm_.changes.size()));
    EXPECT_TRUE(Tell().ok()) << users;
    EXPECT_EQ(slurm_.jobs[7].comment, *CommentWithAccount(users, SummaryOf(*accounts_->Of(7))));
    EXPECT_EQ(slurm_.jobs[8].comment, "a stranger's");
  }
  EXPECT_THAT(slurm_.changes, Each(HasSubstr("JobId=7")));
}

TEST_F(JobAccountsTest, ASlurmThatIsAwayIsToldLater) {
  Add(kNoon, "2 nodes");
  const auto jobs = ProgramReader(&slurm_).ReadAll()->jobs;
  slurm_.is_away = true;
  EXPECT_EQ(accounts_->TellComments(jobs).code(), StatusCode::kUnavailable);
  Add(kNoon + 60, "3 nodes");  // the news that are recorded as being written are old now
  slurm_.is_away = false;
  EXPECT_TRUE(Tell().ok());
  EXPECT_THAT(slurm_.jobs[7].comment, HasSubstr("[fairlead: 2026-11-28T12:01Z 3 nodes - "));
  EXPECT_THAT(slurm_.changes, SizeIs(1));
  EXPECT_EQ(ReadIntentions(store_)->size(), 0u);
}

TEST_F(JobAccountsTest, ManyCommentsTakeTurns) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 20; id < 32; ++id) {
    slurm_.jobs[id] = {};
    ASSERT_TRUE(accounts_->Add(id, 0, {kNoon, "size", "2 nodes"}).ok());
  }
  for (const size_t expected : {5u, 10u, 12u, 12u}) {
    EXPECT_TRUE(Tell().ok());
    EXPECT_THAT(slurm_.changes, SizeIs(expected));
  }
}

// At each call to Slurm and to the store, before it and after it: the next controller makes up for it, and the comment
// has our part once.
TEST_F(JobAccountsTest, ADeathAtAnyMomentIsMadeUpFor) {
  size_t num_deaths = 0;
  for (size_t call = 0; call < 40; ++call) {
    for (const bool is_after : {false, true}) {
      store_ = {};
      slurm_.jobs[7].comment = "my best run";
      Death death{.at_call = call, .is_after = is_after};
      MortalPrograms programs(&slurm_, &death);
      MortalStore store(&store_, &death);
      Open(&programs, &store);
      bool is_known = false;
      try {
        Add(kNoon, "2 nodes");
        is_known = true;
        EXPECT_TRUE(Tell().ok());
      } catch (const Killed&) {
        ++num_deaths;
      }
      Open();
      is_known = is_known || accounts_->Of(7).has_value();
      EXPECT_TRUE(Tell().ok());
      EXPECT_EQ(slurm_.jobs[7].comment, is_known ? "my best run [fairlead: 2026-11-28T12:00Z 2 nodes]" : "my best run")
          << call;
      EXPECT_EQ(ReadIntentions(store_)->size(), 0u) << call;
    }
  }
  EXPECT_GT(num_deaths, 10u);
}

TEST_F(JobAccountsTest, ADamagedRecordIsNamed) {
  for (const char* text : {"{", R"({"job": 8, "owner": 1, "entries": []})", R"({"job": 7})"}) {
    const store::Change change = {"slurm/account/7", text};
    ASSERT_TRUE(store_.Apply({&change, 1}).ok());
    const auto opened = JobAccounts::Create(&slurm_, &store_, {});
    EXPECT_EQ(opened.status().code(), StatusCode::kDataLoss) << text;
    EXPECT_THAT(opened.status().message(), HasSubstr("slurm/account/7"));
  }
}

}  // namespace
}  // namespace fairlead::slurm
