// What people ask and order over HTTP, with the gateway, and with a program that carries things out.
#include "service/http/steering_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "service/http/http_gateway.h"
#include "service/http/patient_client_example.h"
#include "service/steering/live_actions.h"
#include "store/memory_store.h"

namespace fairlead::service {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};
constexpr JobId kJob(2);

class SteeringRoutesTest : public testing::Test {
 protected:
  ~SteeringRoutesTest() override {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // The job runs on h0 to h2 of four hosts, h3 is a spare; a thread handles from here on.
  void Start(const HttpRoleOptions& role_options, std::vector<std::string> hook = {}) {
    LiveActionsOptions options;
    options.steering.spares = {"h3"};
    options.steering.order_patience = kPatience;
    if (!hook.empty()) {
      options.steering.steering.mode = controller::SteeringMode::kAct;
      options.steering.hook.command = std::move(hook);
    }
    SteeringSurroundings surroundings;
    surroundings.store = &store_;
    surroundings.job_name = [](JobId) { return "gpt"; };
    auto actions = LiveActions::Start(now_, options, {"h0", "h1", "h2", "h3"}, std::move(surroundings));
    ASSERT_TRUE(actions.ok()) << actions.status().message();
    actions_ = std::move(actions).value();
    const auto roles = HttpRoles::Load(role_options, true);
    ASSERT_TRUE(roles.ok());
    GatewaySource source;
    source.health = [] { return OkStatus(); };
    source.routes = actions_->Routes();
    auto gateway = HttpGateway::Start({.path = {}, .host = "127.0.0.1", .port = 0}, *roles, source);
    ASSERT_TRUE(gateway.ok()) << gateway.status().message();
    gateway_ = std::move(gateway).value();
    client_.emplace(gateway_->address());
    Say(controller::JobRunning{kJob, {HostId(0), HostId(1), HostId(2)}});
    thread_ = std::thread([this] {
      while (!is_over_) {
        std::vector<controller::SteeringEvent> events;
        {
          const std::lock_guard lock(mutex_);
          events = std::exchange(events_, {});
        }
        now_ = now_ + SimDuration(1'000'000);
        actions_->Handle(now_, events);
        std::this_thread::yield();
      }
    });
  }
  void Say(controller::SteeringEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  void FindSick(HostId host) {
    model::Finding finding;
    finding.id = model::FindingId(1);
    finding.job = kJob;
    finding.syndrome = model::Syndrome::kDead;
    finding.state = model::FindingState::kConfirmed;
    finding.confidence = 1;
    finding.action = model::RecommendedAction::kIsolateAndRestart;
    finding.signs = {model::Sign::kPeers, model::Sign::kSilence};
    finding.summary = "its host is gone";
    model::Culprit culprit;
    culprit.kind = model::CulpritKind::kHost;
    culprit.host = host;
    finding.culprits = {culprit};
    Say(controller::FindingReported{finding});
  }

  Json Look() {
    const auto answer = client_->Get("/v1/steering");
    EXPECT_TRUE(answer && answer->status == 200);
    return answer ? Json::parse(answer->body, nullptr, false) : Json();
  }
  template <class Condition>
  Json WaitUntil(const Condition& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    Json view = Look();
    while (!holds(view) && std::chrono::steady_clock::now() < end) view = Look();
    EXPECT_TRUE(holds(view)) << view.dump(1);
    return view;
  }
  int Post(const std::string& path, const std::string& body, const char* type = "application/json") {
    const auto answer = client_->Post(path, body, type);
    body_ = answer ? answer->body : "";
    return answer ? answer->status : 0;
  }

  store::MemoryStore store_;
  SimTime now_ = SimTime(1'700'000'000'000'000'000);
  std::mutex mutex_;
  std::vector<controller::SteeringEvent> events_;
  std::atomic<bool> is_over_ = false;
  std::unique_ptr<LiveActions> actions_;
  std::unique_ptr<HttpGateway> gateway_;
  std::optional<PatientClient> client_;
  std::string body_;
  std::thread thread_;
};

TEST_F(SteeringRoutesTest, FromAFindingToAnIsolationThatIsTakenBack) {
  Start({.is_operator_open = true}, {"sh", "-c", "cat > /dev/null; echo done by hook"});
  FindSick(HostId(1));
  const Json view = WaitUntil([](const Json& json) {
    return json["jobs"].size() == 1 && json["jobs"][0]["hosts"] == Json({"h0", "h3", "h2"});
  });
  EXPECT_EQ(view["mode"], "act");
  EXPECT_EQ(view["back_end"], "hook");
  EXPECT_EQ(view["isolated"], Json({"h1"}));
  EXPECT_TRUE(view["health_events"].is_null());
  // The program reports nothing about the test, so the host stays where it is, until that is revoked.
  WaitUntil([](const Json& json) { return json["open_actions"].empty(); });
  EXPECT_EQ(Post("/v1/steering/undo", R"({"host": "h1"})"), 200) << body_;
  const Json after = WaitUntil([](const Json& json) { return json["isolated"].empty(); });
  EXPECT_EQ(after["hosts"], Json::array({{{"name", "h1"}, {"condition", "spare"}}}));
}

TEST_F(SteeringRoutesTest, OrdersThatMakeNoSenseAreErrors) {
  Start({.is_operator_open = true});
  WaitUntil([](const Json& json) { return json["jobs"].size() == 1; });
  EXPECT_EQ(Post("/v1/steering/undo", R"({"host": "h9"})"), 404);
  EXPECT_EQ(Post("/v1/steering/undo", R"({"host": "h1"})"), 400);
  EXPECT_THAT(body_, HasSubstr("not isolated"));
  EXPECT_EQ(Post("/v1/steering/undo", R"({"host": "h1", "force": true})"), 400);
  EXPECT_THAT(body_, HasSubstr("'force'"));
  EXPECT_EQ(Post("/v1/steering/undo", R"({"host": 1})"), 400);
  EXPECT_EQ(Post("/v1/steering/undo", "[]"), 400);
  EXPECT_EQ(Post("/v1/steering/undo", R"({"host": "h1"})", "text/plain"), 400);
  EXPECT_EQ(Post("/v1/steering/pause", R"({"job": "gpt", "reason": "x"})"), 400);
  EXPECT_EQ(Post("/v1/steering/pause", R"({"job": "../gpt", "for_s": 60, "reason": "x"})"), 400);
  EXPECT_EQ(Post("/v1/steering/pause", R"({"job": "bert", "for_s": 60, "reason": "x"})"), 404);
  EXPECT_EQ(Post("/v1/steering/pause", R"({"job": "gpt", "for_s": -1, "reason": "x"})"), 400);
  EXPECT_EQ(Post("/v1/steering/pause", R"({"job": "gpt", "for_s": 600, "reason": "new switch"})"), 200) << body_;
  const Json view = WaitUntil([](const Json& json) { return !json["jobs"][0]["paused_until_s"].is_null(); });
  EXPECT_GT(view["jobs"][0]["paused_until_s"], 1'700'000'599);
  EXPECT_EQ(Post("/v1/steering/spare", R"({"host": "h3"})"), 200) << body_;
}

TEST_F(SteeringRoutesTest, ReadersLookAndOperatorsChange) {
  Start({});
  EXPECT_EQ(Look()["mode"], "observe");
  EXPECT_EQ(Post("/v1/steering/undo", R"({"host": "h1"})"), 403);
}

}  // namespace
}  // namespace fairlead::service
