// Answers of Slurm: recorded ones, those of later versions, and what is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/file_reader.h"
#include "slurm/fake_slurm_example.h"
#include "slurm/job_wish.h"
#include "slurm/json_answers.h"
#include "slurm/text_answers.h"

namespace fairlead::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Recorded(const std::string& name) {
  auto text = ReadWholeFile(std::string(FAIRLEAD_SOURCE_DIR) + "/src/slurm/testdata/" + name);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

std::vector<uint32_t> Ids(const std::vector<Job>& jobs) {
  std::vector<uint32_t> ids;
  for (const Job& job : jobs) ids.push_back(job.id);
  return ids;
}

TEST(AnswersTest, LinesAndJsonOfOneMomentAreTheSame) {
  const auto lines = ReadJobLines(Recorded("jobs-22.05.txt"));
  auto json = ReadJobsJson(Recorded("jobs-22.05.json"));
  ASSERT_TRUE(lines.ok()) << lines.status().message();
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_THAT(Ids(*json), testing::UnorderedElementsAreArray(Ids(*lines)));
  for (Job& job : *json) {
    job.gpus.clear();
    job.comment.clear();
    ASSERT_NE(FindJob(*lines, job.id), nullptr);
    job.run_time = FindJob(*lines, job.id)->run_time;
    EXPECT_EQ(job, *FindJob(*lines, job.id)) << job.id;
  }
  EXPECT_EQ(*ReadNodeLines(Recorded("nodes-22.05.txt")), *ReadNodesJson(Recorded("nodes-22.05.json")));
  EXPECT_EQ(*ReadPartitionLines(Recorded("partitions-22.05.txt")),
            *ReadPartitionsJson(Recorded("partitions-22.05.json")));
  EXPECT_EQ(*ReadReservationLines(Recorded("reservations-22.05.txt")),
            *ReadReservationsJson(Recorded("reservations-22.05.json")));
}

// As the cluster of the recording was made: testdata/README.md.
TEST(AnswersTest, JobsAsTheyWereSubmitted) {
  const auto jobs = ReadJobsJson(Recorded("jobs-22.05.json"));
  ASSERT_TRUE(jobs.ok());
  const Job& running = *FindJob(*jobs, 1);
  EXPECT_EQ(running.owner, 65534u);
  EXPECT_EQ(running.state, JobState::kRunning);
  EXPECT_THAT(running.hosts, ElementsAre("h0", "h1"));
  EXPECT_THAT(running.gpus, ElementsAre(HostGpus{"h0", {0, 1}}, HostGpus{"h1", {0, 1}}));
  EXPECT_EQ(running.num_tasks, 4u);
  EXPECT_EQ(running.tasks_per_node, 2u);
  EXPECT_TRUE(running.may_requeue && running.is_single && !running.is_held);
  EXPECT_EQ(model::JobKey(IdentityOf(running)), "slurm-1@65534.slurm-1");
  // Beside it on h0, with the GPU that is left over.
  EXPECT_THAT(FindJob(*jobs, 2)->gpus, ElementsAre(HostGpus{"h0", {2}}));
  const Job& elastic = *FindJob(*jobs, 3);
  EXPECT_TRUE(elastic.is_held && elastic.may_requeue);
  EXPECT_EQ(elastic.num_nodes, 1u);
  EXPECT_EQ(elastic.num_nodes_max, 3u);
  EXPECT_EQ(elastic.admin_comment, "fairlead:v1 nodes=1-3 tasks-per-node=2 held");
  EXPECT_THAT(elastic.comment, HasSubstr("\"APS\""));
  EXPECT_EQ(FindJob(*jobs, 4)->nice, 50);
  EXPECT_FALSE(FindJob(*jobs, 4)->is_single) << "an array";
  EXPECT_FALSE(FindJob(*jobs, 6)->is_single) << "heterogeneous";
}

TEST(AnswersTest, NodesPartitionsReservations) {
  const auto nodes = ReadNodeLines(Recorded("nodes-22.05.txt"));
  ASSERT_TRUE(nodes.ok()) << nodes.status().message();
  ASSERT_EQ(nodes->size(), 4u);
  EXPECT_EQ((*nodes)[0], (Node{"h0", true, false, true, 4, {"train"}, ""}));
  EXPECT_EQ((*nodes)[2], (Node{"h2", true, true, false, 4, {"train"}, "fairlead: finding 7 nic [h2.0]"}));
  const auto partitions = ReadPartitionLines(Recorded("partitions-22.05.txt"));
  EXPECT_THAT(*partitions, ElementsAre(Partition{"train", true, true, {"h0", "h1", "h2", "h3"}}));
  const auto reservations = ReadReservationLines(Recorded("reservations-22.05.txt"));
  EXPECT_THAT(*reservations, ElementsAre(Reservation{"fairlead_spare", {"h2"}, {"root", "nobody"}}));
  EXPECT_THAT(*ReadReservationLines("No reservations in the system\n"), IsEmpty());
  EXPECT_THAT(*ReadNodeLines("Node nope not found\n"), IsEmpty());
  EXPECT_THAT(*ReadJobLines(""), IsEmpty());
}

TEST(AnswersTest, LaterVersionsSayTheSame) {
  const auto old = ReadJobsJson(Recorded("jobs-22.05.json"));
  const auto jobs = ReadJobsJson(Recorded("jobs-24.05.json"));
  ASSERT_TRUE(jobs.ok()) << jobs.status().message();
  for (const uint32_t id : {1u, 3u}) EXPECT_EQ(*FindJob(*jobs, id), *FindJob(*old, id)) << id;
  const Job& completing = *FindJob(*jobs, 9);
  EXPECT_EQ(completing.state, JobState::kCompleting);
  EXPECT_EQ(completing.num_restarts, 2u);
  EXPECT_EQ(FindJob(*jobs, 10)->nice, -5);
  EXPECT_FALSE(FindJob(*jobs, 10)->is_held) << "a priority without bound";
  EXPECT_FALSE(FindJob(*jobs, 10)->is_single);

  const auto middle = ReadJobsJson(Recorded("jobs-23.02.json"));
  ASSERT_TRUE(middle.ok()) << middle.status().message();
  EXPECT_THAT((*middle)[0].hosts, ElementsAre("h0", "h1"));
  EXPECT_THAT((*middle)[0].gpus, ElementsAre(HostGpus{"h0", {0, 1}}, HostGpus{"h1", {0, 3}}));
  EXPECT_EQ((*middle)[0].comment, "mine");
  EXPECT_EQ((*middle)[0].num_nodes_max, 2u);

  const auto nodes = ReadNodesJson(Recorded("nodes-24.05.json"));
  EXPECT_EQ((*nodes)[0], (*ReadNodesJson(Recorded("nodes-22.05.json")))[0]);
  EXPECT_EQ((*nodes)[2], (Node{"h2", true, true, false, 4, {"train"}, "fairlead: finding 7 nic [h2.0]"}));
  EXPECT_FALSE((*nodes)[3].is_up);
  EXPECT_THAT(*ReadPartitionsJson(Recorded("partitions-24.05.json")),
              ElementsAre(Partition{"train", true, false, {"h0", "h1", "h2", "h3"}},
                          Partition{"closed", false, false, {"h3"}}));
  EXPECT_EQ(*ReadReservationsJson(Recorded("reservations-24.05.json")),
            *ReadReservationsJson(Recorded("reservations-22.05.json")));
}

TEST(AnswersTest, UnknownThingsAreNothing) {
  const auto jobs = ReadJobsJson(
      R"({"new": [{"x": {"jobs": [{"job_id": 9}]}}], "jobs": [{"job_id": 1, "user_id": 2, "new": {"deep": [1, [2, {"job_id": 3}]]},
          "job_state": ["QUANTUM"], "nice": "much", "node_count": -3, "gres_detail": 5, "nodes": 7, "cpus": 1e300}]})");
  ASSERT_TRUE(jobs.ok()) << jobs.status().message();
  ASSERT_EQ(jobs->size(), 1u);
  Job expected;
  expected.id = 1;
  expected.owner = 2;
  expected.state = JobState::kEnded;
  expected.end = "QUANTUM";
  EXPECT_EQ((*jobs)[0], expected) << "a state that is not known is none in which we act";
}

TEST(AnswersTest, WhatIsNoAnswerIsAnError) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"jobs": {}})", R"({"jobs": [1]})", R"({"jobs": [[]]})",
        R"({"jobs": [{"user_id": 1}]})", R"({"jobs": [{"job_id": 1}]})", R"({"jobs": [{"job_id": 0, "user_id": 1}]})",
        R"({"jobs": [{"job_id": -1, "user_id": 1}]})", R"({"jobs": [{"job_id": 1, "user_id": 1, "nodes": "h["}]})",
        R"({"jobs": [{"job_id": 1, "user_id": 1}]} x)"}) {
    EXPECT_EQ(ReadJobsJson(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  for (const char* text : {R"({"errors": [{"error": "Invalid job id specified"}], "jobs": []})",
                           R"({"jobs": [], "errors": ["x"]})", R"({"errors": [{}], "jobs": []})"}) {
    EXPECT_EQ(ReadJobsJson(text).status().code(), StatusCode::kUnavailable) << text;
  }
  EXPECT_THAT(ReadJobsJson(R"({"errors": [{"error": "no such job"}], "jobs": []})").status().message(),
              HasSubstr("no such job"));
  const std::string end = SlurmColumns("None", "(null)");
  EXPECT_TRUE(ReadJobLines("7|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|" + end + "\n").ok());
  for (const std::string& text :
       {std::string("7|N/A"), "x|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|" + end,
        "7|N/A|N/A||RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|" + end,
        "7|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h[|" + end,
        "7|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|" + end + " ",
        "7|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|" + end.substr(1),
        "7|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|tr\nain|h0|" + end}) {
    EXPECT_EQ(ReadJobLines(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(ReadJobLines("slurm_load_jobs error\n").status().message(), HasSubstr("line 1: expected 19 fields"));
  EXPECT_FALSE(ReadNodeLines("State=IDLE NodeName=h0").ok());
  EXPECT_FALSE(ReadNodeLines("NodeName=h0 Gres=gpu:1").ok());
}

// Whatever operators, or a plugin of theirs, have written there: it is that job's comment, and no other job.
TEST(AnswersTest, CommentsOfOperatorsMayHaveAnyText) {
  const auto line = [](uint32_t id, const std::string& comment) {
    return fmt::format("{}|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|{}\n", id,
                       SlurmColumns("None", comment));
  };
  std::string all_controls;
  for (char c = 1; c < 32; ++c) all_controls += c;
  std::vector<std::string> comments = {"x\nfairlead:v1 nodes=1-3",
                                       "a|b\n\n9|N/A|N/A|",
                                       "",
                                       "  two before",
                                       "two behind  ",
                                       "\n",
                                       "|end-of-job\n",
                                       all_controls,
                                       "\x7f\x80\xff\xfe\xc3(",
                                       "None",
                                       "'\"\\`$(reboot)",
                                       "fairlead:v1 nodes=1-3 tasks-per-node=4 held",
                                       "fairlead:v1 stopped\n",
                                       " fairlead:v1 stopped",
                                       std::string(63, 'x')};
  comments.push_back("\n" + line(9, "").substr(0, 60));
  for (const std::string& comment : comments) {
    for (const std::string& other : comments) {
      const auto jobs = ReadJobLines(line(7, comment) + line(8, other));
      ASSERT_TRUE(jobs.ok()) << jobs.status().message();
      ASSERT_THAT(Ids(*jobs), ElementsAre(7, 8));
      EXPECT_EQ((*jobs)[0].admin_comment, comment);
      EXPECT_EQ((*jobs)[1].admin_comment, other);
    }
  }
  EXPECT_FALSE(ReadJobLines(line(7, "x") + line(8, "x").substr(0, 100)).ok()) << "cut off";
}

// Of a longer one the rest is not read. It is no mark, even if what is read of it looks like one.
TEST(AnswersTest, LongCommentsAreCutOff) {
  const std::string mark = "fairlead:v1 nodes=1-3 tasks-per-node=4";
  for (const std::string& comment :
       {std::string(65536, 'y'), mark + std::string(40, ' ') + "x", mark + std::string(40, ' '), std::string(64, 'x'),
        mark + std::string(64 - mark.size(), '0')}) {
    const auto jobs =
        ReadJobLines("7|N/A|N/A|0|RUNNING|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|" + SlurmColumns("None", comment));
    ASSERT_TRUE(jobs.ok()) << jobs.status().message();
    EXPECT_EQ((*jobs)[0].admin_comment, comment.substr(0, 64) + "...");
    EXPECT_FALSE(ReadElasticMark((*jobs)[0].admin_comment).has_value());
  }
}

TEST(AnswersTest, JsonMayHaveBytesThatAreNoText) {
  const auto jobs = ReadJobsJson(
      "{\"jobs\": [{\"job_id\": 7, \"user_id\": 1, \"comment\": \"\xc3\xbc\xff\xc3\", "
      "\"admin_comment\": \"\xf0\x9f\"}, {\"job_id\": 8, \"user_id\": 1}]}");
  ASSERT_TRUE(jobs.ok()) << jobs.status().message();
  EXPECT_THAT(Ids(*jobs), ElementsAre(7, 8));
  EXPECT_EQ((*jobs)[0].comment, "\xc3\xbc??");
  EXPECT_EQ((*jobs)[0].admin_comment, "??");
}

TEST(AnswersTest, HowAJobHasEnded) {
  const auto read = [](const std::string& state, const std::string& reason) {
    return (*ReadJobLines("7|N/A|N/A|0|" + state + "|0|1|1|1|1|1|1|1|1|0|0:01|train|(null)|h0|" +
                          SlurmColumns(reason, "")))[0];
  };
  EXPECT_TRUE(read("NODE_FAIL", "NodeDown").has_ended_by_slurm());
  EXPECT_TRUE(read("BOOT_FAIL", "None").has_ended_by_slurm());
  EXPECT_TRUE(read("FAILED", "JobLaunchFailure").has_ended_by_slurm());
  for (const char* own : {"FAILED", "COMPLETED", "CANCELLED", "TIMEOUT", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE"}) {
    EXPECT_EQ(read(own, "NonZeroExitCode").end, own);
    EXPECT_FALSE(read(own, "NonZeroExitCode").has_ended_by_slurm()) << own;
  }
  EXPECT_EQ(read("RUNNING", "None").end, "");
  EXPECT_FALSE(read("PENDING", "NodeDown").has_ended_by_slurm());
  EXPECT_TRUE((*ReadJobsJson(R"({"jobs": [{"job_id": 1, "user_id": 2, "job_state": ["NODE_FAIL"]}]})"))[0]
                  .has_ended_by_slurm());
}

TEST(AnswersTest, HowLongAJobRuns) {
  const auto read = [](const std::string& time, const std::string& state = "RUNNING") {
    return (*ReadJobLines("7|N/A|N/A|0|" + state + "|0|1|1|1|1|1|1|1|1|0|" + time + "|train|(null)|h0|" +
                          SlurmColumns("None", "(null)")))[0]
        .run_time;
  };
  EXPECT_EQ(read("0:00"), SimDuration(0));
  EXPECT_EQ(read("3:04"), SimDuration::FromSeconds(Seconds(184)));
  EXPECT_EQ(read("2:03:04"), SimDuration::FromSeconds(Seconds(7384)));
  EXPECT_EQ(read("5-02:03:04"), SimDuration::FromSeconds(Seconds(5 * 86'400 + 7384)));
  for (const char* none : {"INVALID", "", "1:", "-", "99999999999:00", "9999999:9999999:9999999"}) {
    EXPECT_EQ(read(none), std::nullopt) << none;
  }
  EXPECT_EQ(read("0:00", "PENDING"), std::nullopt);
}

TEST(AnswersTest, StatesOfNodes) {
  const auto read = [](const std::string& state) { return (*ReadNodeLines("NodeName=a State=" + state))[0]; };
  EXPECT_TRUE(read("IDLE").is_up && read("MIXED+PLANNED").is_up && read("ALLOCATED").is_busy);
  for (const char* away :
       {"DOWN", "DOWN*", "IDLE*", "DOWN*+DRAIN", "IDLE+NOT_RESPONDING", "UNKNOWN", "FUTURE", "IDLE+POWERED_DOWN"}) {
    EXPECT_FALSE(read(away).is_up) << away;
    EXPECT_EQ(read(away).is_unknown, std::string_view(away) == "UNKNOWN") << away;
  }
  EXPECT_TRUE(read("IDLE+DRAIN").is_drained && read("IDLE+DRAIN").is_up);
  EXPECT_TRUE(read("MIXED+DRAIN").is_busy && read("MIXED+DRAIN").is_drained);
}

// Jobs with other words for numbers, states and hosts are never taken for others; any text is an answer or an error.
TEST(AnswersTest, AnyTextIsSafe) {
  const std::string json = Recorded("jobs-24.05.json");
  EXPECT_TRUE(rc::check([&json] {
    std::string damaged = json;
    const auto at = *rc::gen::inRange<size_t>(0, damaged.size());
    damaged[at] = *rc::gen::element('"', '{', '}', '[', ']', ',', '0', 'x', '\\');
    const auto jobs = ReadJobsJson(damaged);
    if (jobs.ok()) RC_ASSERT(jobs->size() <= 4u);
    (void)ReadJobLines(
        *rc::gen::container<std::string>(rc::gen::element('|', '1', 'N', '/', 'A', '\n', 'h', '[', ' ')));
  }));
}

}  // namespace
}  // namespace fairlead::slurm
