#include "controller/job_table.h"

#include <gtest/gtest.h>

#include "controller/traffic_components_example.h"

namespace fairlead::controller {
namespace {

std::vector<std::pair<std::string, std::optional<std::string>>> RecordsIn(const std::vector<TrafficOutput>& outputs) {
  std::vector<std::pair<std::string, std::optional<std::string>>> records;
  for (const RecordChanged& record : OutputsIn<RecordChanged>(outputs)) records.emplace_back(record.key, record.value);
  return records;
}

TEST(JobTableTest, NumbersAreKeptAndNeverUsedAgain) {
  ComponentExample example;
  JobTable& jobs = example.jobs;
  const JobId first = *jobs.Intern("a");
  EXPECT_EQ(jobs.Intern("a"), first);
  using Record = std::pair<std::string, std::optional<std::string>>;
  EXPECT_EQ(RecordsIn(example.outputs.Take()),
            (std::vector<Record>{{"next_job", "1"}, {"job/0", R"({"level":7,"name":"a"})"}}));
  EXPECT_TRUE(jobs.ForgetIfUnused(first));
  EXPECT_FALSE(jobs.ForgetIfUnused(first)) << "it is not there any more";
  EXPECT_EQ(RecordsIn(example.outputs.Take()), (std::vector<Record>{{"job/0", std::nullopt}}));
  EXPECT_EQ(jobs.Find("a"), std::nullopt);
  EXPECT_EQ(jobs.Intern("a"), JobId(1));
}

TEST(JobTableTest, ConnectionsAndQuestionsKeepAJob) {
  ComponentExample example;
  JobTable& jobs = example.jobs;
  const JobId job = example.AddJob("a", ComponentExample::Request(5, 0, 3));
  EXPECT_EQ(jobs.jobs_at(HostId(0)), std::set<JobId>{job});
  EXPECT_FALSE(jobs.ForgetIfUnused(job));
  jobs.AddQuestion(job);
  jobs.AddQuestion(job);
  EXPECT_EQ(jobs.RemoveConnection(job, HostId(0), 5), 1u);
  EXPECT_TRUE(jobs.jobs_at(HostId(0)).empty());
  EXPECT_EQ(jobs.FindShare(job, HostId(0)), nullptr);
  jobs.RemoveQuestion(job);
  EXPECT_FALSE(jobs.ForgetIfUnused(job)) << "a question is open";
  jobs.RemoveQuestion(job);
  EXPECT_TRUE(jobs.ForgetIfUnused(job));
}

TEST(JobTableTest, AHostChangesItsOwnConnectionsOnly) {
  ComponentExample example;
  JobTable& jobs = example.jobs;
  const JobId job = example.AddJob("a", ComponentExample::Request(5, 0, 3));
  const uint64_t changes = jobs.num_changes();
  jobs.AddConnection(job, HostId(1), ComponentExample::Request(5, 1, 4));  // the name is taken
  EXPECT_EQ(jobs.FindConnection(job, HostId(1), 5), nullptr);
  EXPECT_EQ(jobs.RemoveConnection(job, HostId(1), 5), 0u);
  EXPECT_EQ(jobs.num_changes(), changes);
  ASSERT_NE(jobs.FindConnection(job, HostId(0), 5), nullptr);
  EXPECT_EQ(jobs.FindConnection(job, HostId(0), 5)->request, ComponentExample::Request(5, 0, 3));
  jobs.SetSocketPort({job, 5, 0}, 4000);
  EXPECT_EQ(jobs.FindConnection(job, HostId(0), 5)->socket_ports, std::vector<uint16_t>{4000});
}

TEST(JobTableTest, LevelsAreKeptWhenTheyChange) {
  ComponentExample example;
  JobTable& jobs = example.jobs;
  const JobId job = example.AddJob("a", ComponentExample::Request(5, 0, 3));
  EXPECT_FALSE(jobs.SetLevel(job, 20, "as last")) << "the last of 8 is 7, which it has";
  EXPECT_EQ(jobs.at(job).reason, "as last");
  EXPECT_TRUE(example.outputs.Take().empty());
  EXPECT_TRUE(jobs.SetLevel(job, 2, "better"));
  EXPECT_EQ(OutputsIn<RecordChanged>(example.outputs.Take()).at(0).value, R"({"level":2,"name":"a"})");
}

// Jobs of an earlier controller wait for agents that still hold something of them.
TEST(JobTableTest, RestoredJobsStayUntilTheyCanNoLongerBeAnnounced) {
  ComponentExample example;
  JobTable& jobs = example.jobs;
  ASSERT_TRUE(jobs.Restore("next_job", "12").ok());
  ASSERT_TRUE(jobs.Restore("job/3", R"({"level":1,"name":"a"})").ok());
  ASSERT_TRUE(jobs.Restore("job/4", R"({"level":99,"name":"b"})").ok());
  ASSERT_TRUE(jobs.Restore("somebody/else", "?").ok());
  EXPECT_TRUE(jobs.is_restoring());
  EXPECT_EQ(jobs.at(JobId(3)).level, 1u);
  EXPECT_EQ(jobs.at(JobId(4)).level, 7u);
  EXPECT_TRUE(jobs.IsAwaited(JobId(3)));
  EXPECT_FALSE(jobs.ForgetIfUnused(JobId(3)));
  EXPECT_EQ(jobs.Intern("new"), JobId(12));
  jobs.AddConnection(JobId(3), HostId(0), ComponentExample::Request(5, 0, 3));
  EXPECT_EQ(jobs.EndRestoring(), (std::vector<JobId>{JobId(4), JobId(12)}));
  EXPECT_FALSE(jobs.is_restoring());
  EXPECT_FALSE(jobs.IsAwaited(JobId(3)));
}

TEST(JobTableTest, DamagedRecordsAreNamed) {
  ComponentExample example;
  const auto fault = [&](const std::string& key, const std::string& value) {
    return example.jobs.Restore(key, value).message();
  };
  EXPECT_EQ(fault("job/x", "{}"), "record 'job/x': can't be read; restore the last good state");
  EXPECT_NE(fault("job/1", R"({"level":-1,"name":"a"})"), "");
  EXPECT_NE(fault("next_job", "many"), "");
  EXPECT_EQ(fault("job/1", R"({"level":1,"name":"a"})"), "");
  EXPECT_NE(fault("job/2", R"({"level":1,"name":"a"})"), "") << "one name, two numbers";
}

}  // namespace
}  // namespace fairlead::controller
