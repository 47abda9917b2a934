// Sizes of jobs of unknown length.
#include "scheduling/aiturbo/length_guess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduling/aiturbo/aiturbo.h"
#include "scheduling/allocation_example.h"

namespace fairlead::scheduling::aiturbo {
namespace {

using testing::ElementsAre;

// T(k) = k^-0.5. Has run for `executed_s` until now, in one piece.
AllocationJob& AddUnknown(double executed_s, std::vector<NodeShare> current, ExampleSnapshot* example) {
  AllocationJob& job = example->AddJob(16, 0.5, 0);
  job.is_predictable = false;
  job.requested = 3;
  job.executed_s = executed_s;
  job.running_since = example->snapshot.now - SimDuration::FromSeconds(Seconds(executed_s));
  job.resized_at = job.running_since;
  job.current = std::move(current);
  return job;
}

// At 1 / 0.5 s an iteration, 1000 s are 2000 iterations; on the four GPUs that it asks for as well as on those it has.
TEST(LengthGuessTest, AJobHasAsMuchLeftAsItHasHad) {
  ExampleSnapshot example(4, 4);
  AddUnknown(1000, {}, &example);
  AddUnknown(1000, {{HostId(0), 4, 0}}, &example);
  AddUnknown(1000, {{HostId(1), 1, 0}}, &example);
  const AllocationSnapshot guessed = GuessLengths(example.snapshot);
  for (const AllocationJob& job : guessed.jobs) EXPECT_TRUE(job.is_predictable);
  EXPECT_DOUBLE_EQ(guessed.jobs[0].remaining_iterations, 2000);
  EXPECT_DOUBLE_EQ(guessed.jobs[1].remaining_iterations, 2000);
  EXPECT_DOUBLE_EQ(guessed.jobs[2].remaining_iterations, 1000);
}

TEST(LengthGuessTest, NothingIsGuessedWhereThereIsNothingToGuessFrom) {
  ExampleSnapshot example(4, 4);
  AddUnknown(0, {}, &example);                  // has not run
  example.AddJob(16, 0.5, 77).executed_s = 10;  // is known
  AllocationJob& silent = example.AddJobWith({{1, 0, 0}, {2, 0, 0}}, 0);
  silent.is_predictable = false;
  silent.executed_s = 10;
  const AllocationSnapshot guessed = GuessLengths(example.snapshot);
  EXPECT_FALSE(guessed.jobs[0].is_predictable);
  EXPECT_EQ(guessed.jobs[1].remaining_iterations, 77);
  EXPECT_FALSE(guessed.jobs[2].is_predictable);
}

// Alone on 4 of 16 GPUs, a job that has run for 9000 s saves half of another 9000 s by 16 GPUs, more than ten restarts
// of 30 s; one that has run for 500 s saves 250 s, less.
TEST(LengthGuessTest, AJobOfUnknownLengthGrowsWhereThatPays) {
  const auto gpus_after = [](double executed_s) {
    ExampleSnapshot example(4, 4);
    AddUnknown(executed_s, {{HostId(0), 4, 0}}, &example);
    return GpusOf(CreateAiturbo().value()->Decide(example.snapshot).value());
  };
  EXPECT_THAT(gpus_after(9000), ElementsAre(16));
  EXPECT_THAT(gpus_after(500), ElementsAre(4));
}

// Five GPUs: a job of known length on three of them, which is all that it can use, and one of unknown length on two.
// That one is first in the order, but that it might go on for as long as it has is no reason to stop the other.
TEST(LengthGuessTest, AJobOfUnknownLengthTakesNothingFromOthers) {
  ExampleSnapshot example(1, 5);
  AllocationJob& known = example.AddJob(3, 1, 9000);
  known.current = {{HostId(0), 3, 0}};
  known.executed_s = known.attained_service = 1e6;
  AllocationJob& unknown = example.AddJob(5, 1, 0);
  unknown.is_predictable = false;
  unknown.current = {{HostId(0), 2, 0}};
  unknown.executed_s = 1500;
  EXPECT_THAT(GpusOf(CreateAiturbo().value()->Decide(example.snapshot).value()), ElementsAre(3, 2));
}

// 16 GPUs, all with one job that has run for 9000 s; twelve others come. T(k) (1 + 2 Q k / 16) with T(k) = k^-0.5 is
// least at k = 8 / Q: two GPUs each where eight run and five wait.
TEST(LengthGuessTest, AJobOfUnknownLengthMakesRoomForThoseThatWait) {
  ExampleSnapshot example(4, 4);
  AddUnknown(9000, {{HostId(0), 4, 0}, {HostId(1), 4, 0}, {HostId(2), 4, 0}, {HostId(3), 4, 0}}, &example);
  for (int j = 0; j < 12; ++j) example.AddJob(16, 0.5, 1000);
  const AllocationPlan plan = CreateAiturbo().value()->Decide(example.snapshot).value();
  ExpectLegal(example.snapshot, plan);
  EXPECT_THAT(GpusOf(plan), ElementsAre(2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0));
}

// 12 GPUs are held by a job of known length that stays; 16 would suit one of unknown length best, and it takes the four
// that are free instead of leaving them.
TEST(LengthGuessTest, AStoppedJobOfUnknownLengthTakesWhatIsFree) {
  ExampleSnapshot example(4, 4);
  AllocationJob& other = example.AddJobWith({{12, 0, 1}}, 1e5);
  other.current = {{HostId(0), 4, 0}, {HostId(1), 4, 0}, {HostId(2), 4, 0}};
  other.executed_s = 1e4;
  AddUnknown(9000, {}, &example).requested = 15;
  EXPECT_THAT(GpusOf(CreateAiturbo().value()->Decide(example.snapshot).value()), ElementsAre(12, 4));
}

}  // namespace
}  // namespace fairlead::scheduling::aiturbo
