// End to end, from NCCL's calls to the reports for people and hosts: ranks in processes of their own with the real
// plugin, real agents that look at them, a real controller, all with threads, sockets and clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "ccl/profiler/simulated_process_example.h"
#include "service/agent/host_agent_server.h"
#include "service/controller/controller_daemon.h"
#include "service/http/patient_client_example.h"
#include "service/streams/client_link.h"

namespace fairlead::ccl {
namespace {

using nlohmann::json;
using service::ControllerDaemon;
using service::HostAgentServer;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace fs = std::filesystem;

constexpr uint32_t kHosts = 4;
constexpr SimDuration kSoon(2'000'000'000);
constexpr SimDuration kLater(8'000'000'000);
constexpr SimDuration kNever(600'000'000'000);
constexpr std::chrono::minutes kPatience{2};
constexpr uint32_t kStranger = 65534;

constexpr char kFabric[] = R"(fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 2
  spines: 2
  uplink_gbps: 100
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}
)";

// The agent of a host, on a thread of its own.
class LiveAgent {
 public:
  LiveAgent(const fs::path& folder, uint32_t host) {
    service::HostAgentServerOptions options;
    options.agent.host = "h" + std::to_string(host);
    options.agent.nics = {IpAddress::FromIpv4(0x0a000001 + host)};
    options.socket.path = folder / (options.agent.host + ".sock");
    options.segments = folder / options.agent.host;
    options.look_period = SimDuration(200'000'000);
    options.rewrites_ports = false;
    options.log = [](const std::string&) {};
    options.judged = [this](const controller::HostJudged& judged) {
      const std::lock_guard lock(mutex_);
      judged_ = judged;
      changed_.notify_all();
    };
    auto client = service::ControllerClient::Start({.address = "unix:" + (folder / "agents.sock").string()});
    FL_CHECK(client.ok());
    link_ = std::make_unique<service::ClientLink>(std::move(client).value());
    auto server = HostAgentServer::Open(options, link_.get());
    FL_CHECK(server.ok());
    server_ = std::move(server).value();
    thread_ = std::thread([this] { server_->Run(stop_); });
  }
  ~LiveAgent() {
    stop_ = true;
    thread_.join();
  }

  // The last message that it received with content; nothing when none comes.
  std::vector<controller::HostJudged::Finding> WaitForFinding() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this] { return !judged_.findings.empty(); });
    return judged_.findings;
  }
  bool IsAccused() {
    const std::lock_guard lock(mutex_);
    return !judged_.findings.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  controller::HostJudged judged_;
  std::unique_ptr<service::ClientLink> link_;
  std::unique_ptr<HostAgentServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Four hosts with a rank each, in one communicator.
class LiveDiagnosisTest : public testing::Test {
 protected:
  LiveDiagnosisTest() {
    for (uint32_t host = 0; host < kHosts; ++host) fs::create_directories(SegmentsOf(host));
    std::ofstream(folder_.File("fabric.yaml")) << kFabric;
    std::ofstream(folder_.File("addresses.json")) << R"({"nics": {"10.0.0.1": "h0/nic0", "10.0.0.2": "h1/nic0",
      "10.0.0.3": "h2/nic0", "10.0.0.4": "h3/nic0"}, "interfaces": {}})";
    // First: threads do not outlive a fork.
    for (uint32_t rank = 0; rank < kHosts; ++rank) {
      ranks_.emplace_back(SimulatedProcessOptions{
          .folder = SegmentsOf(rank), .rank = static_cast<int>(rank), .num_ranks = static_cast<int>(kHosts)});
    }
  }
  std::string SegmentsOf(uint32_t host) const { return folder_.File("h" + std::to_string(host)); }

  // Processes of another user on each host, which call themselves by the same job and communicator. Before Start().
  void AddStrangers() {
    fs::permissions(folder_.path(), fs::perms(0711));
    for (uint32_t host = 0; host < kHosts; ++host) {
      fs::permissions(SegmentsOf(host), fs::perms(01777));
      strangers_.emplace_back(SimulatedProcessOptions{.folder = SegmentsOf(host),
                                                      .rank = static_cast<int>(host),
                                                      .num_ranks = static_cast<int>(kHosts),
                                                      .user = kStranger});
    }
  }

  // Until the controller watches a job that is warm. Args: waits longer than that are hangs, and a job may take so long
  // to be stopped: five seconds are nothing on a busy machine.
  void Start(SimDuration hangs_after, SimDuration death_settles_for) {
    service::ControllerDaemonOptions options;
    options.fabric_file = folder_.File("fabric.yaml");
    options.addresses_file = folder_.File("addresses.json");
    options.server.listen = {"unix:" + folder_.File("agents.sock")};
    options.http = "127.0.0.1:0";
    options.core.version = "test";
    options.diagnosis.watch.assembler.settle_for = SimDuration(1'000'000'000);
    options.diagnosis.watch.death_settles_for = death_settles_for;
    options.c4d.hang.suspect_after = hangs_after;
    options.c4d.hang.confirm_for = SimDuration(2'000'000'000);
    options.c4d.hang.warm_up_factor = 1;
    auto daemon = ControllerDaemon::Start(options);
    ASSERT_TRUE(daemon.ok()) << daemon.status().message();
    daemon_ = std::move(daemon).value();
    client_ = std::make_unique<service::PatientClient>(daemon_->http_address());
    for (uint32_t host = 0; host < kHosts; ++host) agents_.push_back(std::make_unique<LiveAgent>(folder_.path(), host));
    ASSERT_TRUE(WaitUntil([&] {
      Iterate();
      return Get("/metrics").find("fairlead_watched_ranks{hpc_job=\"gpt\"} 4") != std::string::npos;
    }));
    for (int i = 0; i < 5; ++i) Iterate();
  }
  void Iterate() {
    for (SimulatedProcess& rank : ranks_) rank.Iterate();
  }
  std::string Get(const std::string& path) {
    const auto answer = client_->Get(path);
    return answer ? answer->body : "";
  }
  json Findings() { return json::parse(Get("/v1/findings"))["findings"]; }
  // Asks again and again: an answer is a round through the controller's threads.
  static bool WaitUntil(const std::function<bool()>& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  const TemporaryFolder folder_;
  std::vector<SimulatedProcess> ranks_;
  std::vector<SimulatedProcess> strangers_;
  std::unique_ptr<ControllerDaemon> daemon_;
  std::unique_ptr<service::PatientClient> client_;
  std::vector<std::unique_ptr<LiveAgent>> agents_;
};

TEST_F(LiveDiagnosisTest, AStuckRankBecomesAFindingThatItsHostReceives) {
  ASSERT_NO_FATAL_FAILURE(Start(kLater, kSoon));
  EXPECT_THAT(Findings(), IsEmpty());
  for (const size_t rank : {0, 1, 3}) ranks_[rank].BeginAndWait();
  ranks_[2].BeginAndStick();
  const auto reported = agents_[2]->WaitForFinding();
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].job, "gpt");
  EXPECT_EQ(reported[0].syndrome, model::Syndrome::kCommHang) << reported[0].text;
  EXPECT_FALSE(reported[0].text.empty());
  const json findings = Findings();
  ASSERT_THAT(findings, SizeIs(1));
  const json& finding = findings[0];
  EXPECT_EQ(finding["job"], "gpt");
  EXPECT_EQ(finding["id"], 1);
  EXPECT_EQ(finding["syndrome"], "comm_hang");
  EXPECT_EQ(finding["hosts"], json::array({"h2"}));
  EXPECT_EQ(finding["ranks"], json::array({2}));
  EXPECT_THAT(finding["culprits"][0].get<std::string>(), HasSubstr("h2"));
  EXPECT_LE(finding["suspected_at_s"].get<double>(), finding["confirmed_at_s"].get<double>());
  EXPECT_TRUE(finding["cleared_at_s"].is_null());
  EXPECT_FALSE(finding["evidence"].empty());
  EXPECT_THAT(Get("/v1/events"), HasSubstr("comm_hang: "));
  EXPECT_THAT(Get("/metrics"), HasSubstr("fairlead_findings{syndrome=\"comm_hang\"} 1"));
  for (const size_t host : {0, 1, 3}) EXPECT_FALSE(agents_[host]->IsAccused());
  // What it was made from.
  const json detail = json::parse(Get("/v1/findings/1"));
  EXPECT_EQ(detail["finding"]["text"], finding["text"]);
  EXPECT_GE(detail["seen_at_s"].get<double>(), finding["suspected_at_s"].get<double>());
  EXPECT_FALSE(detail["waits"].empty()) << detail.dump();
  EXPECT_FALSE(detail["next"].empty());
  EXPECT_EQ(json::parse(Get("/v1/findings/2"))["error"], "there is no finding 2");
}

TEST_F(LiveDiagnosisTest, AKilledRankIsFound) {
  ASSERT_NO_FATAL_FAILURE(Start(kNever, kSoon));
  for (SimulatedProcess& rank : ranks_) rank.BeginAndWait();
  ranks_[1].Kill();
  const auto reported = agents_[1]->WaitForFinding();
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].syndrome, model::Syndrome::kDead) << reported[0].text;
  EXPECT_EQ(Findings()[0]["ranks"], json::array({1}));
}

// Whoever calls himself by another user's job, stalls and dies harms his own job only.
TEST_F(LiveDiagnosisTest, ProcessesOfAnotherUserAreOfAnotherJob) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start processes of another user";
  AddStrangers();
  ASSERT_NO_FATAL_FAILURE(Start(kLater, kSoon));
  for (SimulatedProcess& stranger : strangers_) stranger.BeginAndWait();
  strangers_[1].Kill();
  // Their job is found out, which shows that what they do is seen.
  EXPECT_TRUE(WaitUntil([&] {
    Iterate();
    return !Findings().empty();
  }));
  for (const json& finding : Findings()) EXPECT_EQ(finding["job"], "gpt@65534");
  EXPECT_THAT(Get("/metrics"), HasSubstr("fairlead_watched_ranks{hpc_job=\"gpt\"} 4"));
  // And the other job's end is seen as ever.
  for (SimulatedProcess& rank : ranks_) rank.BeginAndWait();
  ranks_[2].Kill();
  EXPECT_TRUE(WaitUntil([&] {
    const json findings = Findings();
    return std::ranges::any_of(findings,
                               [](const json& one) { return one["job"] == "gpt" && one["syndrome"] == "dead"; });
  }));
}

// As by scancel, in the middle of an operation.
TEST_F(LiveDiagnosisTest, AStoppedJobYieldsNoFinding) {
  ASSERT_NO_FATAL_FAILURE(Start(kNever, kLater));
  for (SimulatedProcess& rank : ranks_) rank.BeginAndWait();
  for (const SimulatedProcess& rank : ranks_) kill(rank.pid(), SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return Get("/metrics").find("fairlead_jobs_stopped_total 1") != std::string::npos; }));
  EXPECT_THAT(Findings(), IsEmpty());
  for (const auto& agent : agents_) EXPECT_FALSE(agent->IsAccused());
}

TEST_F(LiveDiagnosisTest, AHealthyJobAndItsEndHaveNoFindings) {
  ASSERT_NO_FATAL_FAILURE(Start(kNever, kLater));
  for (int i = 0; i < 20; ++i) Iterate();
  for (SimulatedProcess& rank : ranks_) rank.Leave();
  EXPECT_TRUE(WaitUntil([&] { return Get("/v1/events").find("is over") != std::string::npos; }));
  EXPECT_THAT(Findings(), IsEmpty());
  for (const auto& agent : agents_) EXPECT_FALSE(agent->IsAccused());
}

}  // namespace
}  // namespace fairlead::ccl
