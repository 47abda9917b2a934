#include "slurm/held_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/cluster_reader.h"
#include "slurm/fake_slurm_example.h"

namespace fairlead::slurm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kHeldMark[] = "fairlead:v1 nodes=1-3 tasks-per-node=1 held";

class HeldJobsTest : public testing::Test {
 protected:
  void Add(uint32_t id, const std::string& mark, bool is_held) {
    FakeJob job;
    job.owner = 1002;
    job.admin_comment = mark;
    job.is_held = is_held;
    slurm_.jobs[id] = job;
  }
  void Release() {
    const auto state = ProgramReader(&slurm_).ReadAll();
    ASSERT_TRUE(state.ok()) << state.status().message();
    ReleaseHeldJobs(
        state->jobs, [](const Job& job) { return job.id == 9; }, &slurm_, &notes_);
  }

  FakeSlurm slurm_;
  std::vector<std::string> told_;
  EngineNotes notes_{
      [this](SimTime, const controller::Noted& note) { told_.push_back(note.subject + ": " + note.text); }};
};

TEST_F(HeldJobsTest, OnlyWhatWeHoldAndDoNotSize) {
  Add(6, "(null)", true);                                  // its user's
  Add(7, "fairlead:v1 nodes=1-3 tasks-per-node=1", true);  // likewise, though elastic
  Add(8, kHeldMark, true);
  Add(9, kHeldMark, true);  // gets its size from us
  Release();
  EXPECT_THAT(
      slurm_.changes,
      ElementsAre("scontrol release 8", "scontrol update JobId=8 AdminComment=fairlead:v1 nodes=1-3 tasks-per-node=1"));
  EXPECT_THAT(told_, ElementsAre("job 8: is released, at the size that it asks for"));
  EXPECT_EQ(slurm_.jobs[8].admin_comment, "fairlead:v1 nodes=1-3 tasks-per-node=1");
  slurm_.changes.clear();
  Release();
  EXPECT_THAT(slurm_.changes, IsEmpty());
}

// Its user has released it, or slurmctld has forgotten that it has no mark: a later hold of its user's would be ours.
TEST_F(HeldJobsTest, WhatIsNotHeldLosesTheMark) {
  Add(8, kHeldMark, false);
  Release();
  EXPECT_THAT(slurm_.changes,
              ElementsAre("scontrol update JobId=8 AdminComment=fairlead:v1 nodes=1-3 tasks-per-node=1"));
  EXPECT_THAT(told_, IsEmpty());
}

// Slurm answers readings, and nothing else.
class ReadOnlySlurm final : public Programs {
 public:
  explicit ReadOnlySlurm(FakeSlurm* slurm) : slurm_(*slurm) {}
  Result<std::string> Run(const Command& command) override {
    if (command[1] == "release") return Unavailable("socket timed out");
    return slurm_.Run(command);
  }

 private:
  FakeSlurm& slurm_;
};

TEST_F(HeldJobsTest, ARefusalIsToldOnceAndTriedAgain) {
  Add(8, kHeldMark, true);
  ReadOnlySlurm slurm(&slurm_);
  const auto state = ProgramReader(&slurm_).ReadAll();
  const auto never = [](const Job&) { return false; };
  for (int i = 0; i < 2; ++i) ReleaseHeldJobs(state->jobs, never, &slurm, &notes_);
  EXPECT_THAT(told_, ElementsAre("job 8: socket timed out"));
  EXPECT_THAT(slurm_.changes, IsEmpty()) << "the mark still says that it is held by us";
  ReleaseHeldJobs(state->jobs, never, &slurm_, &notes_);
  EXPECT_THAT(told_, Contains("job 8: goes on"));
  EXPECT_THAT(told_, Contains(HasSubstr("is released")));
}

}  // namespace
}  // namespace fairlead::slurm
