#include "service/steering/shown_steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::service {
namespace {

using controller::HostCondition;
using testing::AllOf;
using testing::HasSubstr;

const SimTime kShownAt(1'700'000'000'000'000'000);

// Jobs 1 to 3 on hosts 0 to 2; host 3 is a spare.
class ShownSteeringTest : public testing::Test {
 protected:
  ShownSteeringTest() {
    for (uint32_t job = 1; job <= 3; ++job) kept_.Take(controller::JobRunning{JobId(job), {HostId(job - 1)}});
    kept_.Take(controller::SpareOffered{HostId(3)});
    kept_.Take(controller::PauseAnnounced{JobId(1), kShownAt + SimDuration(5), "new switches"});
    kept_.MakeBatch(kShownAt);
  }
  void Update() { shown_.Update(kept_, {"a line"}, {{"stop_job", 2}}); }

  controller::KeptSteering kept_{
      kShownAt,
      {},
      {"h0", "h1", "h2", "h3"},
      {.take_outcomes = [](SimTime) { return std::vector<controller::SteeringEvent>(); },
       .entry = {},
       .job_name =
           [](JobId job) {
             return std::vector<std::string>{"", "gpt@1001", "gpt@1002", "bert@1001"}[job.value()];
           }}};
  ShownSteering shown_{kShownAt, controller::SteeringMode::kRecommend, "world"};
};

TEST_F(ShownSteeringTest, ItIsAsItWasAtTheLastUpdate) {
  EXPECT_EQ(shown_.ConditionOf(HostId(3)), HostCondition::kUnknown);
  EXPECT_EQ(shown_.FindRunning("gpt@1001").status().code(), StatusCode::kNotFound);
  Update();
  const report::Json json = shown_.ToJson();
  EXPECT_EQ(json["mode"], "recommend");
  EXPECT_EQ(json["back_end"], "world");
  EXPECT_EQ(json["hosts"].dump(), R"([{"name":"h3","condition":"spare"}])");
  EXPECT_EQ(json["jobs"][0]["name"], "gpt@1001");
  EXPECT_EQ(json["jobs"][0]["hosts"].dump(), R"(["h0"])");
  EXPECT_FALSE(json["jobs"][0]["paused_until_s"].is_null());
  EXPECT_TRUE(json["jobs"][1]["paused_until_s"].is_null());
  EXPECT_EQ(json["log"].dump(), R"(["a line"])");
  EXPECT_EQ(shown_.ConditionOf(HostId(3)), HostCondition::kSpare);
  EXPECT_EQ(shown_.ConditionOf(HostId(0)), HostCondition::kUnknown) << "of a job is nothing that holds up an order";
  const SteeringNumbers numbers = shown_.numbers();
  EXPECT_EQ(numbers.hosts, (std::map<HostCondition, size_t>{{HostCondition::kSpare, 1}}));
  EXPECT_EQ(numbers.jobs, (std::map<controller::JobCondition, size_t>{{controller::JobCondition::kRunning, 3}}));
  EXPECT_EQ(numbers.begun.at("stop_job"), 2u);
  shown_.SetNow(kShownAt + SimDuration(5));
  EXPECT_FALSE(shown_.ToJson()["jobs"][0]["paused_until_s"].is_null());
  Update();
  EXPECT_TRUE(shown_.ToJson()["jobs"][0]["paused_until_s"].is_null()) << "the pause is over";
}

TEST_F(ShownSteeringTest, TheStatusIsThatOfNow) {
  Update();
  EXPECT_TRUE(shown_.SetStatus(Unavailable("no disk")).ok());
  EXPECT_EQ(shown_.ToJson()["error"], "no disk");
  EXPECT_FALSE(shown_.numbers().is_ok);
  EXPECT_EQ(shown_.status().message(), "no disk");
  EXPECT_EQ(shown_.SetStatus(OkStatus()).message(), "no disk");
  EXPECT_TRUE(shown_.ToJson()["error"].is_null());
  EXPECT_TRUE(shown_.numbers().is_ok);
}

TEST_F(ShownSteeringTest, AJobByKeyOrByANameThatItAloneHas) {
  Update();
  EXPECT_EQ(*shown_.FindRunning("gpt@1002"), JobId(2));
  EXPECT_EQ(*shown_.FindRunning("bert"), JobId(3));
  EXPECT_THAT(shown_.FindRunning("gpt").status().message(), AllOf(HasSubstr("gpt@1001"), HasSubstr("gpt@1002")));
  EXPECT_EQ(shown_.FindRunning("gpt").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(shown_.FindRunning("llama").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fairlead::service
