// Workload files of every layout, and what is said about bad ones.
#include "sim/elastic/workload_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/neutral_workload.h"

namespace fairlead::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string PublicFile(const std::string& name) { return std::string(FAIRLEAD_SOURCE_DIR "/../shared/data/") + name; }

class WorkloadFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text, const std::string& name = "jobs.csv") const {
    std::string path = folder_.File(name);
    std::ofstream(path) << text;
    return path;
  }
  std::string ErrorOf(const std::string& text, const WorkloadFileOptions& options = {}) const {
    const auto file = LoadWorkloadFile(Write(text), options);
    return file.ok() ? "loaded" : std::string(file.status().message());
  }

  TemporaryFolder folder_;
};

// 8 GPUs for 1000 s: a rigid job. Its first start costs 30 s, and it is first seen at 60 s.
TEST_F(WorkloadFileTest, ANeutralJobWithADurationIsRigidAndTakesIt) {
  const auto file = LoadWorkloadFile(Write("job,submit,gpus,duration\na,0,8,1000\n"), {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->layout, WorkloadLayout::kNeutral);
  ASSERT_EQ(file->jobs().size(), 1u);
  EXPECT_THAT(file->jobs()[0].allowed_gpus, ElementsAre(8));
  for (const char* policy : {"tiresias", "aiturbo", "srtf"}) {
    const auto created = scheduling::CreateAllocationPolicy(policy, 1).value();
    const auto result = RunElasticSimulation(file->jobs(), *created, {}).value();
    EXPECT_NEAR(result.jobs[0].jct_s(), 60 + 30 + 1000, 10) << policy;
    EXPECT_EQ(result.jobs[0].requested_gpus, 8u);
    EXPECT_NEAR(result.jobs[0].attained_gpu_s, 8 * 1030, 80) << policy;
  }
}

TEST_F(WorkloadFileTest, SpeedsMakeANeutralJobElasticBetweenMinAndMax) {
  const auto file =
      LoadWorkloadFile(Write("gpus,job,submit,speeds,steps,min,max\n2,a,100,1:1.0 2:0.5 4:0.25 8:0.2,4000,2,4\n"), {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(file->jobs()[0].allowed_gpus, ElementsAre(2, 4));
  EXPECT_EQ(file->jobs()[0].submission_s, 0);
  // Alone it takes all it may: 4000 iterations of 0.25 s.
  const auto policy = scheduling::CreateAllocationPolicy("aiturbo", 1).value();
  const auto result = RunElasticSimulation(file->jobs(), *policy, {}).value();
  EXPECT_NEAR(result.jobs[0].jct_s(), 60 + 30 + 1000, 10);
}

TEST_F(WorkloadFileTest, BadRowsAreNamed) {
  EXPECT_THAT(ErrorOf("a,b\n1,2\n"), HasSubstr("columns are of no workload that we know: pollux has name,time"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,duration\na,0,0,10\n"), HasSubstr(":2: gpus is 0"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,duration\na,-5,1,10\n"), HasSubstr(":2: submit is -5"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,duration\na,0,1,\n"), HasSubstr(":2: how long the job takes is unknown"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,duration\na,0,1,5\na,0,1,5\n"), HasSubstr("two jobs are called 'a'"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,duration\n"), HasSubstr("no job in it"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,speeds,steps\na,0,2,1:1 4,5\n"), HasSubstr("speeds has '4'"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,speeds,steps\na,0,2,1:1 4:2,5\n"), HasSubstr("nothing for the 2 GPUs"));
  EXPECT_THAT(ErrorOf("job,submit,gpus,duration,min\na,0,2,5,4\n"), HasSubstr("asks for 2 GPUs, but may run on 4"));
  EXPECT_THAT(LoadWorkloadFile("/nowhere.csv", {}).status().message(), HasSubstr("/nowhere.csv: no such file"));
  EXPECT_THAT(ErrorOf("name,time,application,num_replicas,batch_size\na,0,bert,1,12\n"), HasSubstr("--profiles"));
  WorkloadFileOptions missing;
  missing.profiles = "/nowhere";
  EXPECT_THAT(ErrorOf("name,time,application,num_replicas,batch_size\na,0,bert,1,12\n", missing),
              HasSubstr("--profiles /nowhere: no such"));
}

// Times of day count, jobs without GPUs or time do not. 4 GPUs for 600 s, a day and a second after the first.
TEST_F(WorkloadFileTest, LogsOfHelios) {
  const std::string header =
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";
  const auto file = LoadWorkloadFile(Write(header + "b,u2,v,4,8,1,FAILED,2020-03-01 00:00:00,x,x,600,5\n"
                                                    "a,u1,v,1,8,1,COMPLETED,2020-02-28 23:59:59,x,x,100,5\n"
                                                    "c,u1,v,0,8,1,COMPLETED,2020-02-28 23:59:59,x,x,100,5\n"
                                                    "d,u1,v,1,8,1,CANCELLED,2020-02-28 23:59:59,x,x,0,5\n"),
                                     {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->layout, WorkloadLayout::kHelios);
  ASSERT_EQ(file->jobs().size(), 2u);
  EXPECT_EQ(file->own.num_passed_over, 2u);
  EXPECT_EQ(file->jobs()[0].name, "a");
  EXPECT_EQ(file->jobs()[1].submission_s, 86'401);
  EXPECT_THAT(file->jobs()[1].allowed_gpus, ElementsAre(4));
  const auto policy = scheduling::CreateAllocationPolicy("fcfs", 1).value();
  const auto result = RunElasticSimulation(file->jobs(), *policy, {}).value();
  EXPECT_NEAR(result.jobs[1].attained_gpu_s, 4 * (30 + 600), 40);
  for (const char* time :
       {"2020-02-30 00:00:00", "2020-02-01", "2020-02-01 24:00:00", "yesterday", "2020-02-01 1:1:1x"}) {
    EXPECT_THAT(ErrorOf(header + "a,u,v,1,8,1,COMPLETED," + time + ",x,x,100,5\n"), HasSubstr(":2: submit_time is '"));
  }
  EXPECT_THAT(ErrorOf(header + "a,u,v,0,8,1,COMPLETED,2020-02-28 23:59:59,x,x,100,5\n"), HasSubstr("no job with GPUs"));
}

// By hand: a ran 600 s on 8 GPUs after 300 s on 4, which is 750 s on 8; b's only attempt has no end, c has none.
TEST_F(WorkloadFileTest, LogsOfPhilly) {
  const std::string eight = R"([{"ip": "m1", "gpus": ["gpu0", "gpu1", "gpu2", "gpu3"]},
                               {"ip": "m2", "gpus": ["gpu0", "gpu1", "gpu2", "gpu3"]}])";
  const std::string log = R"([{"status": "Pass", "vc": "ee9e8c", "jobid": "a", "user": "u1",
    "submitted_time": "2017-10-09 07:02:00", "attempts": [
      {"start_time": "2017-10-09 07:10:00", "end_time": "2017-10-09 07:15:00",
       "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1", "gpu2", "gpu3"]}]},
      {"start_time": "2017-10-09 07:20:00", "end_time": "2017-10-09 07:30:00", "detail": )" +
                          eight + R"(}]},
    {"status": "Killed", "vc": "v", "jobid": "b", "user": "u2", "submitted_time": "2017-10-09 07:00:00",
     "attempts": [{"start_time": "2017-10-09 07:10:00", "end_time": "None", "detail": )" +
                          eight + R"(}]},
    {"status": "Failed", "vc": "v", "jobid": "c", "submitted_time": "None", "attempts": []},
    {"status": "Pass", "vc": "v", "jobid": "d", "user": "u2", "submitted_time": "2017-10-09 07:00:00",
     "attempts": [{"start_time": "2017-10-09 07:00:10", "end_time": "2017-10-09 07:01:10",
                   "detail": [{"ip": "m3", "gpus": ["gpu7"]}]}]}])";
  const auto file = LoadWorkloadFile(Write(log), {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->layout, WorkloadLayout::kPhilly);
  ASSERT_EQ(file->jobs().size(), 2u);
  EXPECT_EQ(file->own.num_passed_over, 2u);
  EXPECT_EQ(file->jobs()[0].name, "d");
  EXPECT_EQ(file->jobs()[1].submission_s, 120);
  EXPECT_EQ(file->jobs()[1].tenant, "ee9e8c");
  EXPECT_THAT(file->jobs()[1].allowed_gpus, ElementsAre(8));
  const auto policy = scheduling::CreateAllocationPolicy("fcfs", 1).value();
  const auto result = RunElasticSimulation(file->jobs(), *policy, {}).value();
  EXPECT_NEAR(result.jobs[1].attained_gpu_s, 8 * (30 + 750), 8);
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr(": job 0: no object"));
  EXPECT_THAT(ErrorOf("[{\"user\": 3}]"), HasSubstr(": job 0: jobid is missing"));
  EXPECT_THAT(ErrorOf("[{"), HasSubstr("expected a JSON list"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("no job with GPUs"));
}

TEST_F(WorkloadFileTest, JobsMayHaveTenants) {
  const auto file = LoadWorkloadFile(Write("job,submit,gpus,duration,tenant\na,0,8,10,prod\nb,0,8,10,\n"), {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->jobs()[0].tenant, "prod");
  EXPECT_EQ(file->jobs()[1].tenant, "");
}

TEST_F(WorkloadFileTest, WeightsOfNeutralJobs) {
  const auto file = LoadWorkloadFile(Write("job,submit,gpus,duration,weight\na,0,8,10,2.5\nb,0,8,10,\n"), {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->jobs()[0].weight, 2.5);
  EXPECT_EQ(file->jobs()[1].weight, 1);
  EXPECT_THAT(ErrorOf("job,submit,gpus,duration,weight\na,0,8,10,0\n"), HasSubstr(":2: weight is 0"));
}

// Ends are predicted exactly by who knows true lengths, and too late by half by who thinks all to be as much longer.
TEST_F(WorkloadFileTest, ForecastsAreJudgedByWhatWasLeft) {
  const auto file = LoadWorkloadFile(Write("job,submit,gpus,speeds,steps\na,0,8,8:1,100000\n"), {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto policy = scheduling::CreateAllocationPolicy("fcfs", 1).value();
  const auto exact = RunElasticSimulation(file->jobs(), *policy, {}).value();
  for (const auto& error : exact.jobs[0].forecast_errors) EXPECT_NEAR(error.value(), 0, 0.03);
  ElasticOptions options;
  options.errors = {0.5, 0, 3};
  const auto wrong = RunElasticSimulation(file->jobs(), *policy, options).value();
  const double first = wrong.jobs[0].forecast_errors[0].value();
  EXPECT_GT(std::abs(first), 0.05);
  for (const auto& error : wrong.jobs[0].forecast_errors) EXPECT_NEAR(error.value(), first, 0.05);
}

// 7 fields: iterations, arrival, GPUs; 10 fields: iterations, GPUs, weight, deadline, arrival.
TEST_F(WorkloadFileTest, GavelTracesOfBothForms) {
  const GpuTypeSpeeds speeds =
      ParseGavelSpeeds(R"json({"v100": {"('LM (batch size 5)', 1)": {"null": 10}, "('A3C', 4)": {"null": 2}}})json",
                       "t")
          .value();
  const std::string path =
      Write("LM (batch size 5)\tcmd\t--steps\t1\t5000\t100.0\t1\nA3C\tcmd\tfolder\t--n\t0\t600\t4\t1.0\t-1.0\t160.5\n",
            "t.trace");
  const auto workload = LoadGavelWorkload(path, speeds, "v100");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  ASSERT_EQ(workload->jobs.size(), 2u);
  EXPECT_EQ(workload->jobs[1].submission_s, 60.5);
  EXPECT_THAT(workload->jobs[1].allowed_gpus, ElementsAre(4));
  const auto policy = scheduling::CreateAllocationPolicy("tiresias", 1).value();
  const auto result = RunElasticSimulation(workload->jobs, *policy, {}).value();
  EXPECT_NEAR(result.jobs[0].attained_gpu_s, 30 + 500, 10);
  EXPECT_NEAR(result.jobs[1].attained_gpu_s, 4 * (30 + 300), 20);
  EXPECT_THAT(LoadGavelWorkload(path, speeds, "k80").status().message(), HasSubstr("it has v100"));
  EXPECT_THAT(LoadGavelWorkload(Write("LM (batch size 6)\tc\t-s\t1\t5\t1\t1\n"), speeds, "v100").status().message(),
              HasSubstr(":1: no speeds of 'LM (batch size 6)'"));
}

TEST_F(WorkloadFileTest, PublicFilesOfEveryLayout) {
  if (!std::filesystem::exists(PublicFile("pollux-osdi21"))) GTEST_SKIP() << "no public data";
  const auto load = [](const std::string& path, const WorkloadFileOptions& options = {}) {
    auto file = LoadWorkloadFile(PublicFile(path), options);
    EXPECT_TRUE(file.ok()) << path << ": " << file.status().message();
    return std::move(file).value();
  };
  EXPECT_EQ(load("pollux-osdi21/workloads/workload-1.csv").jobs().size(), 160u);
  EXPECT_EQ(load("tiresias/60_job.csv").jobs().size(), 60u);
  WorkloadFileOptions first;
  first.most_jobs = 50;
  EXPECT_EQ(load("elasticflow/philly_103959.csv", first).jobs().size(), 50u);
  WorkloadFileOptions sia;
  sia.profiles = PublicFile("sia/profiles");
  sia.gpu_types = {"rtx"};
  EXPECT_GT(load("sia/workloads/philly/workload-1.csv", sia).jobs().size(), 100u);
}

}  // namespace
}  // namespace fairlead::sim
