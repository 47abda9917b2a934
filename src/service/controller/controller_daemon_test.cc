// The whole controller, in this process and in another one that is killed.
#include "service/controller/controller_daemon.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/temporary_folder.h"
#include "service/controller/traffic_json.h"
#include "service/http/patient_client_example.h"
#include "service/streams/stream_example.h"

namespace fairlead::service {
namespace {

namespace fs = std::filesystem;

// Two hosts on two leaves, two spines: two paths between the hosts.
constexpr char kFabric[] = R"(fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 1
  spines: 2
  uplink_gbps: 100
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}
)";
constexpr char kAddresses[] = R"({"nics": {"10.0.0.1": "h0/nic0", "10.0.1.1": "h1/nic0"}, "interfaces": {}})";

class ControllerDaemonTest : public testing::Test {
 protected:
  ControllerDaemonTest() {
    std::ofstream(folder_.File("fabric.yaml")) << kFabric;
    std::ofstream(folder_.File("addresses.json")) << kAddresses;
  }

  ControllerDaemonOptions Options() const {
    return {.fabric_file = folder_.File("fabric.yaml"),
            .addresses_file = folder_.File("addresses.json"),
            .store = "sqlite:" + folder_.File("store.db"),
            .server = {.listen = {"unix:" + folder_.File("agents.sock")}},
            .http = "127.0.0.1:0",
            .http_roles = {.is_operator_open = true},
            .core = {.version = "test"}};
  }
  std::unique_ptr<ControllerClient> Connect() const {
    auto client = ControllerClient::Start({.address = "unix:" + folder_.File("agents.sock"),
                                           .delay_min = std::chrono::milliseconds(5),
                                           .delay_max = std::chrono::milliseconds(50)});
    EXPECT_TRUE(client.ok());
    return std::move(client).value();
  }
  static std::string StartError(const ControllerDaemonOptions& options, StatusCode code) {
    const auto daemon = ControllerDaemon::Start(options);
    EXPECT_FALSE(daemon.ok());
    EXPECT_EQ(daemon.status().code(), code) << daemon.status().message();
    return daemon.status().message();
  }

  const TemporaryFolder folder_;
};

// As an agent of host h0 does: hello, and what it holds when it is asked.
controller::PathsWanted WantTwo() {
  controller::PathsWanted wanted = {.request = 1, .job = "gpt", .connections = {}};
  for (uint64_t connection = 1; connection <= 2; ++connection) {
    wanted.connections.push_back({.connection = connection,
                                  .source = IpAddress::FromIpv4(0x0a000001),
                                  .destination = IpAddress::FromIpv4(0x0a000101),
                                  .protocol = 6,
                                  .destination_port = 5000});
  }
  return wanted;
}

template <class Message>
Message NextMessage(ClientEvents* events) {
  for (int i = 0; i < 1000; ++i) {
    controller::ToAgent message = events->NextOf<controller::ToAgent>();
    if (auto* wanted = std::get_if<Message>(&message)) return std::move(*wanted);
  }
  ADD_FAILURE() << "no such message";
  return {};
}

Json Get(PatientClient* client, const std::string& path) {
  const auto answer = client->Get(path);
  EXPECT_TRUE(answer && answer->status == 200) << path;
  return answer ? Json::parse(answer->body, nullptr, false) : Json();
}

TEST_F(ControllerDaemonTest, ServesAgentsAndPeople) {
  auto daemon = ControllerDaemon::Start(Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status().message();
  const auto agent = Connect();
  ClientEvents events(agent.get());
  events.NextOf<StreamOpened>();
  agent->Send(HelloOf("h0"));
  EXPECT_EQ(NextMessage<controller::Welcome>(&events).controller_version, "test");
  agent->Send(WantTwo());
  const auto answered = NextMessage<controller::PathsAnswered>(&events);
  EXPECT_EQ(answered.connections.size(), 2u);
  PatientClient people((*daemon)->http_address());
  EXPECT_EQ(Get(&people, "/v1/jobs")["jobs"][0]["name"], "gpt");
  EXPECT_EQ(Get(&people, "/v1/jobs")["jobs"][0]["connections"], 2);
  EXPECT_EQ(Get(&people, "/v1/hosts")["hosts"][0]["connected"], true);
  EXPECT_EQ(Get(&people, "/v1/hosts")["hosts"][1]["connected"], false);
  // Two connections, two spines: each has its own.
  const Json paths = Get(&people, "/v1/connections");
  ASSERT_EQ(paths["total"], 2);
  EXPECT_NE(paths["connections"][0]["links"], paths["connections"][1]["links"]);
  EXPECT_FALSE(Get(&people, "/v1/events")["events"].empty());
  const Json network = Get(&people, "/v1/topology?job=gpt");
  EXPECT_EQ(network["nodes"].size(), 6u) << "two hosts, two leaves, two spines";
  EXPECT_EQ(network["jobs"][0]["links"].size(), 6u) << "each host to its leaf, each leaf to both spines";
  EXPECT_EQ(people.Get("/v1/topology?open=leaf7")->status, 404);
  EXPECT_EQ(people.Get("/v1/topology?opne=leaf0")->status, 400);
  (*daemon)->LogChanges();
  const Json history = Get(&people, "/v1/history");
  ASSERT_EQ(history["rows"].size(), 1u);
  EXPECT_EQ(history["rows"][0][1], 1) << "one job";
  EXPECT_EQ(Get(&people, "/v1/jobs/gpt/trace")["otherData"]["job"], "gpt");
  EXPECT_EQ(people.Get("/v1/jobs/nobody/trace")->status, 404);
  EXPECT_EQ(Get(&people, "/healthz")["status"], "ok");
  // An operator takes a spine's cable away: both connections are on the other one.
  const auto answer = people.Post("/v1/links/leaf0-%3Espine0", R"({"health": 0})");
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200) << answer->body;
  NextMessage<controller::PathsChanged>(&events);
  const Json around = Get(&people, "/v1/connections");
  for (const Json& path : around["connections"]) {
    EXPECT_EQ(path["links"][1], "leaf0->spine1") << path;
  }
  const auto metrics = people.Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_NE(metrics->body.find("fairlead_links{state=\"down\"} 2"), std::string::npos) << metrics->body;
  // promtool's rules: tests/e2e/controller_command_test.py.
}

TEST_F(ControllerDaemonTest, StartErrorsSayWhatIsWrong) {
  ControllerDaemonOptions options = Options();
  options.fabric_file = folder_.File("missing.yaml");
  EXPECT_NE(StartError(options, StatusCode::kNotFound).find("missing.yaml"), std::string::npos);
  options = Options();
  options.addresses_file = folder_.File("fabric.yaml");
  EXPECT_NE(StartError(options, StatusCode::kInvalidArgument).find("fabric.yaml"), std::string::npos);
  options = Options();
  options.policy = "nonsense";
  EXPECT_NE(StartError(options, StatusCode::kNotFound).find("nonsense"), std::string::npos);
  options = Options();
  options.store = "postgres:x";
  EXPECT_NE(StartError(options, StatusCode::kInvalidArgument).find("--store"), std::string::npos);
  options = Options();
  options.otlp.url = "collector:4318";
  EXPECT_NE(StartError(options, StatusCode::kInvalidArgument).find("--otlp collector:4318"), std::string::npos);
  const auto first = ControllerDaemon::Start(Options());
  ASSERT_TRUE(first.ok()) << first.status().message();
  options = Options();
  EXPECT_NE(StartError(options, StatusCode::kFailedPrecondition).find("store.db"), std::string::npos);
  options.store = "memory";
  EXPECT_NE(StartError(options, StatusCode::kFailedPrecondition).find("agents.sock"), std::string::npos);
}

TEST_F(ControllerDaemonTest, ADamagedStoreIsRestoredWhenAskedFor) {
  { ASSERT_TRUE(ControllerDaemon::Start(Options()).ok()); }
  const std::string store = folder_.File("store.db");
  fs::remove(store + "-wal");
  fs::remove(store + "-shm");
  std::ofstream(store, std::ios::trunc) << std::string(8192, 'x');
  ControllerDaemonOptions options = Options();
  const auto refused = ControllerDaemon::Start(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find(".copy"), std::string::npos) << refused.status().message();
  EXPECT_NE(refused.status().message().find("--restore"), std::string::npos) << refused.status().message();
  options.restore_copy = true;
  EXPECT_TRUE(ControllerDaemon::Start(options).ok());
}

// A separate process, which the test below starts repeatedly.
TEST(ControllerDaemonChild, Serves) {
  const char* folder = std::getenv("FAIRLEAD_TEST_DAEMON");
  if (folder == nullptr) GTEST_SKIP() << "only for ControllerDaemonTest";
  const fs::path path = folder;
  const auto daemon = ControllerDaemon::Start({.fabric_file = path / "fabric.yaml",
                                               .addresses_file = path / "addresses.json",
                                               .store = "sqlite:" + (path / "store.db").string(),
                                               .server = {.listen = {"unix:" + (path / "agents.sock").string()}},
                                               .core = {.version = "test"}});
  ASSERT_TRUE(daemon.ok()) << daemon.status().message();
  pause();
}

class Child {
 public:
  explicit Child(const fs::path& folder) {
    setenv("FAIRLEAD_TEST_DAEMON", folder.c_str(), 1);
    char name[] = "/proc/self/exe";
    char filter[] = "--gtest_filter=ControllerDaemonChild.*";
    char* arguments[] = {name, filter, nullptr};
    EXPECT_EQ(posix_spawn(&pid_, fs::read_symlink(name).c_str(), nullptr, nullptr, arguments, environ), 0);
    unsetenv("FAIRLEAD_TEST_DAEMON");
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

std::vector<controller::HeldConnection> HeldOf(const controller::PathsWanted& wanted,
                                               const controller::PathsAnswered& answered) {
  std::vector<controller::HeldConnection> held;
  for (size_t i = 0; i < wanted.connections.size(); ++i) {
    const auto& answer = answered.connections[i].queue_pairs.at(0);
    held.push_back(
        {.wanted = wanted.connections[i],
         .queue_pairs = {{.is_managed = true, .plane = answer.plane, .path = answer.path, .port = answer.port}},
         .socket_ports = {0}});
  }
  return held;
}

// Killed three times: each time the agent announces what it holds, and has the same paths afterwards.
TEST_F(ControllerDaemonTest, AKilledControllerGoesOnWhereItWas) {
  const auto agent = Connect();
  ClientEvents events(agent.get());
  std::optional<controller::PathsAnswered> before;
  for (int life = 0; life < 4; ++life) {
    SCOPED_TRACE(life);
    const Child child(folder_.path());
    events.NextOf<StreamOpened>();
    agent->Send(HelloOf("h0"));
    NextMessage<controller::Welcome>(&events);
    if (before) {
      agent->Send(controller::ConnectionsHeld{.job = "gpt", .connections = HeldOf(WantTwo(), *before)});
    }
    agent->Send(WantTwo());
    const auto answered = NextMessage<controller::PathsAnswered>(&events);
    ASSERT_EQ(answered.connections.size(), 2u);
    if (before) {
      for (size_t i = 0; i < 2; ++i) {
        const auto& now = answered.connections[i].queue_pairs.at(0);
        EXPECT_EQ(now.path, before->connections[i].queue_pairs.at(0).path);
        // Answers of an earlier controller are void against those of a later one.
        EXPECT_GT(now.epoch, before->connections[i].queue_pairs.at(0).epoch);
      }
      EXPECT_EQ(answered.level, before->level);
    }
    before = answered;
  }
}

}  // namespace
}  // namespace fairlead::service
