#include "service/steering/hook_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "controller/steering_dispatcher.h"
#include "report/printable_text.h"
#include "service/steering/action_json.h"
#include "service/steering/audit_log.h"
#include "service/steering/hook_message.h"

namespace fairlead::service {
namespace {

using controller::HostTested;
using controller::IsolateHost;
using controller::SteeringAction;
using controller::StepDone;
using controller::TakeSpare;
using controller::TestHost;
using testing::HasSubstr;

SteeringAction ActionOf(controller::SteeringStep step) {
  SteeringAction action;
  action.number = 7;
  action.attempt = 2;
  action.step = std::move(step);
  action.job = JobId(3);
  action.finding = model::FindingId(1);
  action.confidence = 0.95;
  action.evidence = {{"age of the operation", 20, 0.5, "s"}};
  action.reason = "host 12 \"hangs\"\n\xff";
  return action;
}

TEST(HookMessageTest, TheInputIsOneLineWithActionAndReason) {
  const std::string input = HookInput(ActionOf(TakeSpare{JobId(3), HostId(40), HostId(12)}));
  EXPECT_EQ(std::count(input.begin(), input.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(input);
  EXPECT_EQ(json["fairlead_action"], 1);
  EXPECT_EQ(json["action"], 7);
  EXPECT_EQ(json["attempt"], 2);
  EXPECT_EQ(json["step"], "take_spare");
  EXPECT_EQ(json["host"], 12);
  EXPECT_EQ(json["spare"], 40);
  EXPECT_TRUE(json["hosts"].is_null());
  EXPECT_EQ(json["evidence"][0]["baseline"], 0.5);
  EXPECT_EQ(json["description"], "take host 40 for host 12 of job 3");
  EXPECT_TRUE(json["host_name"].is_null());
  const std::vector<std::string> names = {"worker-0", "worker-1"};
  const auto names_of_hosts = NamesFrom(names);
  EXPECT_EQ(nlohmann::json::parse(HookInput(ActionOf(IsolateHost{HostId(1)}), names_of_hosts))["host_name"],
            "worker-1");
}

TEST(HookMessageTest, NamesAreShownBesideNumbers) {
  const controller::SteeringNames names = {
      .host = [](HostId host) { return host == HostId(9) ? "" : "w" + std::to_string(host.value()); },
      .job = [](JobId) { return "gpt"; }};
  const auto restart =
      nlohmann::json::parse(HookInput(ActionOf(controller::RestartJob{JobId(3), {HostId(4), HostId(9)}}), names));
  EXPECT_EQ(restart["job"], 3);
  EXPECT_EQ(restart["job_name"], "gpt");
  EXPECT_EQ(restart["hosts"], nlohmann::json({4, 9}));
  EXPECT_EQ(restart["host_names"], nlohmann::json({"w4", nullptr}));
  EXPECT_TRUE(restart["host_name"].is_null());
  const auto take = nlohmann::json::parse(HookInput(ActionOf(TakeSpare{JobId(3), HostId(40), HostId(12)}), names));
  EXPECT_EQ(take["spare_name"], "w40");
  EXPECT_EQ(take["host_name"], "w12");
  EXPECT_EQ(take["description"], "take host w40 for host w12 of job gpt");
}

TEST(HookMessageTest, TheLastLineIsTheAnswer) {
  EXPECT_EQ(ParseHookOutput("").message, "");
  EXPECT_EQ(ParseHookOutput("one\ntwo\n\n").message, "two");
  EXPECT_EQ(ParseHookOutput("text\n{\"message\": \"drained\"}\n").message, "drained");
  EXPECT_EQ(ParseHookOutput("{\"healthy\": true}").is_healthy, true);
  EXPECT_EQ(ParseHookOutput("{\"healthy\": false}").is_healthy, false);
  // No host is healthy by accident.
  for (const char* output : {"{\"healthy\": 1}", "{\"healthy\": \"true\"}", "[true]", "true", "{\"healthy\": true",
                             "{\"healthy\": true}\nmore"}) {
    EXPECT_FALSE(ParseHookOutput(output).is_healthy) << output;
  }
}

// Law: any bytes give a clean, short message; cutting an answer anywhere never makes a host healthy.
TEST(HookMessageTest, AnyOutputIsRead) {
  Random random(1);
  const std::string answer = "log\n{\"message\": \"fine \xc3\xa4\", \"healthy\": true, \"more\": [1, {\"a\": null}]}";
  EXPECT_EQ(ParseHookOutput(answer).is_healthy, true);
  for (size_t size = 0; size < answer.size(); ++size) {
    EXPECT_FALSE(ParseHookOutput(answer.substr(0, size)).is_healthy) << size;
  }
  for (int i = 0; i < 20000; ++i) {
    std::string output = answer;
    const uint64_t num_changes = random.Below(8);
    for (uint64_t c = 0; c < num_changes; ++c)
      output[random.Below(output.size())] = static_cast<char>(random.Below(256));
    if (random.Below(10) == 0) output.append(random.Below(2000), static_cast<char>(random.Below(256)));
    const HookAnswer read = ParseHookOutput(output);
    ASSERT_LE(read.message.size(), 202u);
    ASSERT_EQ(read.message, report::CleanText(read.message));
  }
}

TEST(HookMessageTest, ExitCodesSayWhetherToTryAgain) {
  const SteeringAction action = ActionOf(IsolateHost{HostId(12)});
  const auto judge = [&](int exit_code, bool timed_out) {
    return JudgeHook(action, ExecHookOutcome{exit_code, timed_out, "drain: no such node\n"}).done;
  };
  EXPECT_TRUE(judge(0, false).succeeded);
  EXPECT_EQ(judge(0, false).message, "drain: no such node");
  EXPECT_FALSE(judge(1, false).succeeded);
  EXPECT_FALSE(judge(1, false).is_final);
  EXPECT_EQ(judge(1, false).message, "hook: exit code 1: drain: no such node");
  EXPECT_TRUE(judge(2, false).is_final);
  EXPECT_FALSE(judge(143, true).is_final);
  EXPECT_THAT(judge(143, true).message, HasSubstr("ran past its deadline"));
  const StepDone not_started = JudgeHook(action, Unavailable("hook: can't start 'x'")).done;
  EXPECT_FALSE(not_started.succeeded);
  EXPECT_EQ(not_started.attempt, 2u);
}

TEST(HookMessageTest, ATestPassesOnlyByItsReport) {
  const SteeringAction action = ActionOf(TestHost{HostId(12)});
  EXPECT_TRUE(JudgeHook(action, ExecHookOutcome{0, false, "{\"healthy\": true}"}).tested->is_healthy);
  EXPECT_FALSE(JudgeHook(action, ExecHookOutcome{0, false, "all fine"}).tested->is_healthy);
  EXPECT_FALSE(JudgeHook(action, ExecHookOutcome{1, false, "{\"healthy\": true}"}).tested);
}

model::Finding SickHost() {
  model::Finding finding;
  finding.id = model::FindingId(0);
  finding.job = JobId(1);
  finding.syndrome = model::Syndrome::kNonCommHang;
  finding.state = model::FindingState::kConfirmed;
  finding.confidence = 0.95;
  finding.signs = {model::Sign::kPeers, model::Sign::kOwnRanks};
  finding.action = model::RecommendedAction::kIsolateAndRestart;
  finding.summary = "host 2 hangs";
  model::Culprit culprit;
  culprit.kind = model::CulpritKind::kHost;
  culprit.host = HostId(2);
  finding.culprits = {culprit};
  return finding;
}

// Steering, the operator's program and the audit log together.
TEST(HookBackendTest, AProgramCarriesAFindingOutAndTheLogTellsIt) {
  const TemporaryFolder folder;
  const std::string seen = folder.File("seen");
  const std::string log = folder.File("audit.jsonl");
  // Isolating fails the first time; every input is kept.
  const std::string script =
      "cat >> " + seen + "; test $(wc -l < " + seen + ") -gt 1 || exit 1; echo '{\"healthy\": true}'";
  HookBackend hook({.command = {"sh", "-c", script}});
  controller::SteeringOptions options;
  options.mode = controller::SteeringMode::kAct;
  options.attempts.pause = SimDuration(0);
  controller::Steering steering(options, 100);
  Result<AuditLog> audit = AuditLog::Open(log);
  ASSERT_TRUE(audit.ok());
  controller::SteeringDispatcher dispatcher(
      &steering, &hook, [&](const controller::AuditEntry& entry) { EXPECT_TRUE(audit->Write(entry).ok()); });
  const controller::SteeringEvent events[] = {controller::JobRunning{JobId(1), {HostId(0), HostId(1), HostId(2)}},
                                              controller::SpareOffered{HostId(9)},
                                              controller::FindingReported{SickHost()}};
  dispatcher.Handle(SimTime(1), events);
  EXPECT_EQ(steering.HostsOf(JobId(1)), (std::vector<HostId>{HostId(0), HostId(1), HostId(9)}));
  // It passed the test, so it is a spare again.
  EXPECT_EQ(steering.ConditionOf(HostId(2)), controller::HostCondition::kSpare);

  std::ifstream inputs(seen);
  std::vector<std::string> steps;
  for (std::string line; std::getline(inputs, line);) steps.push_back(nlohmann::json::parse(line)["step"]);
  // Sent twice, since the first attempt failed.
  ASSERT_GE(steps.size(), 2u);
  EXPECT_EQ(steps[0], "isolate_host");
  EXPECT_EQ(steps[1], "isolate_host");
  EXPECT_THAT(steps, testing::IsSupersetOf({"test_host", "return_host", "stop_job", "take_spare", "restart_job"}));
  EXPECT_EQ(steps.size(), 7u);

  std::ifstream lines(log);
  size_t num_actions = 0;
  size_t num_failures = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json["kind"] == "action") {
      ++num_actions;
      EXPECT_FALSE(json["reason"].get<std::string>().empty());
    } else if (json["outcome"] == "attempt" && !json["succeeded"].get<bool>()) {
      ++num_failures;
    }
  }
  // 7 attempts, and two messages to the diagnosis: when the job is stopped, and when it runs again.
  EXPECT_EQ(num_actions, 9u);
  EXPECT_EQ(num_failures, 1u);
}

TEST(AuditLogTest, AFileThatCannotBeOpenedIsAnError) {
  const auto log = AuditLog::Open("/no/such/folder/audit.jsonl");
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(log.status().message(), HasSubstr("/no/such/folder/audit.jsonl: the audit log can't be opened"));
}

}  // namespace
}  // namespace fairlead::service
