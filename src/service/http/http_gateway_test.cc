#include "service/http/http_gateway.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/random.h"
#include "service/http/patient_client_example.h"

namespace fairlead::service {
namespace {

class HttpGatewayTest : public testing::Test {
 protected:
  void Start(const HttpRoleOptions& role_options) {
    GatewaySource source;
    source.health = [this] { return health_; };
    source.finding = [](uint32_t number) { return number == 7 ? std::optional(Json{{"finding", 7}}) : std::nullopt; };
    source.jobs = source.findings = source.events = [] { return Json{{"list", Json::array()}}; };
    source.connections = [](const std::string& job, size_t limit) { return Json{{"job", job}, {"limit", limit}}; };
    source.metrics = [] { return "# HELP a b\n"; };
    source.report_link = [this](const std::string& link, double health, bool both, const std::string&) {
      if (link != "leaf0->spine1") return NotFound("no link " + link);
      reported_ = health;
      both_ = both;
      return OkStatus();
    };
    const auto roles = HttpRoles::Load(role_options, true);
    ASSERT_TRUE(roles.ok());
    auto gateway = HttpGateway::Start({.path = {}, .host = "127.0.0.1", .port = 0}, *roles, source);
    ASSERT_TRUE(gateway.ok()) << gateway.status().message();
    gateway_ = std::move(gateway).value();
    client_.emplace(gateway_->address());
  }
  int Get(const std::string& path) {
    const auto answer = client_->Get(path);
    body_ = answer ? answer->body : "";
    return answer ? answer->status : 0;
  }
  int Post(const std::string& path, const std::string& body, const char* type = "application/json") {
    const auto answer = client_->Post(path, body, type);
    body_ = answer ? answer->body : "";
    return answer ? answer->status : 0;
  }

  // A connection to the gateway that has sent this.
  Descriptor Say(const std::string& bytes) const {
    const auto endpoint = ParseEndpoint(gateway_->address());
    Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint->port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    return connection;
  }

  Status health_;
  std::optional<double> reported_;
  bool both_ = false;
  std::string body_;
  std::unique_ptr<HttpGateway> gateway_;
  std::optional<PatientClient> client_;
};

TEST_F(HttpGatewayTest, GivesOutWhatItIsAskedFor) {
  Start({});
  for (const char* path : {"/v1/jobs", "/v1/findings", "/v1/events"}) {
    EXPECT_EQ(Get(path), 200) << path;
    EXPECT_TRUE(Json::parse(body_).contains("list"));
  }
  EXPECT_EQ(Get("/v1/findings/7"), 200);
  EXPECT_EQ(Json::parse(body_), (Json{{"finding", 7}}));
  EXPECT_EQ(Get("/v1/findings/8"), 404);
  EXPECT_EQ(Json::parse(body_)["error"], "there is no finding 8");
  EXPECT_EQ(Get("/v1/findings/-1"), 404);
  EXPECT_EQ(Get("/v1/findings/99999999999999999999"), 404);
  EXPECT_EQ(Get("/v1/connections?job=gpt%2D3&limit=7"), 200);
  EXPECT_EQ(Json::parse(body_), (Json{{"job", "gpt-3"}, {"limit", 7}}));
  EXPECT_EQ(Get("/v1/connections?limit=x"), 400);
  EXPECT_EQ(Get("/v1/connections?job=..%2Fx"), 400);
  EXPECT_EQ(Get("/metrics"), 200);
  EXPECT_EQ(Get("/"), 200);
  EXPECT_NE(body_.find("<title>Fairlead</title>"), std::string::npos);
  EXPECT_EQ(Get("/page.js"), 200);
  EXPECT_EQ(Get("/nothing"), 404);
  EXPECT_EQ(Json::parse(body_)["error"], "there is no /nothing");
}

TEST_F(HttpGatewayTest, HealthIsThatOfTheStore) {
  Start({});
  EXPECT_EQ(Get("/healthz"), 200);
  health_ = Status(StatusCode::kResourceExhausted, "the disk is full");
  EXPECT_EQ(Get("/healthz"), 503);
  EXPECT_EQ(Json::parse(body_)["error"], "the disk is full");
}

TEST_F(HttpGatewayTest, OperatorsReportLinks) {
  Start({.is_operator_open = true});
  EXPECT_EQ(Post("/v1/links/leaf0-%3Espine1", R"({"health": 0.25, "both_directions": false})"), 200);
  EXPECT_EQ(reported_, 0.25);
  EXPECT_FALSE(both_);
  reported_.reset();
  EXPECT_EQ(Post("/v1/links/leaf0-%3Espine9", R"({"health": 0})"), 404);
  for (const char* body :
       {"", "[]", "{}", R"({"health": 1.5})", R"({"health": -1})", R"({"health": "1"})",
        R"({"health": 1, "both": true})", R"({"health": 1, "both_directions": 1})", "{\"health\": 1"}) {
    EXPECT_EQ(Post("/v1/links/leaf0-%3Espine1", body), 400) << body;
  }
  // What a form of another site can send without asking the browser.
  EXPECT_EQ(Post("/v1/links/leaf0-%3Espine1", R"({"health": 0})", "text/plain"), 400);
  EXPECT_FALSE(reported_.has_value());
}

TEST_F(HttpGatewayTest, ReadersChangeNothing) {
  Start({});
  EXPECT_EQ(Post("/v1/links/leaf0-%3Espine1", R"({"health": 0})"), 403);
  client_->set_bearer_token_auth("wrong-wrong-wrong");
  EXPECT_EQ(Post("/v1/links/leaf0-%3Espine1", R"({"health": 0})"), 401);
  EXPECT_EQ(Get("/v1/jobs"), 401);
  EXPECT_EQ(Get("/healthz"), 200);
  EXPECT_FALSE(reported_.has_value());
}

TEST_F(HttpGatewayTest, LargeBodiesAreRefused) {
  Start({.is_operator_open = true});
  EXPECT_EQ(Post("/v1/links/leaf0-%3Espine1", std::string(100'000, ' ')), 413);
}

// As many as the pages of seven people have, that say nothing or stop in the middle. The gateway gives them up after a
// second or two of silence; where the machine lets that much time pass, it is tried again.
TEST_F(HttpGatewayTest, SlowClientsDelayNoOther) {
  Start({});
  const auto are_others_heard_first = [&] {
    std::vector<Descriptor> slow;
    for (int i = 0; i < 40; ++i) slow.push_back(Say(i % 2 == 0 ? "G" : "GET /healthz HTTP/1.1\r\nX-Name: "));
    EXPECT_EQ(Get("/healthz"), 200);
    for (const Descriptor& client : slow) {
      char byte = 0;
      if (recv(client.get(), &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN) return false;
    }
    return true;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  bool is_so = are_others_heard_first();
  while (!is_so && std::chrono::steady_clock::now() < end) is_so = are_others_heard_first();
  EXPECT_TRUE(is_so) << "others were heard only when some were given up";
}

TEST_F(HttpGatewayTest, NoiseIsHarmless) {
  Start({.is_operator_open = true});
  Random random(7);
  const std::vector<std::string> beginnings = {
      "",
      "GET /",
      "GET /v1/jobs HTTP/1.1\r\n",
      "POST /v1/links/leaf0-%3Espine1 HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
      "POST /v1/links/leaf0-%3Espine1 HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 300\r\n\r\n",
      "POST /v1/links/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"};
  for (int i = 0; i < 60; ++i) {
    std::string bytes = beginnings[static_cast<size_t>(i) % beginnings.size()];
    for (uint64_t left = random.Below(3000); left > 0; --left) bytes.push_back(static_cast<char>(random.Below(256)));
    const Descriptor client = Say(bytes);
  }
  EXPECT_EQ(Get("/healthz"), 200);
  EXPECT_FALSE(reported_.has_value());
}

TEST_F(HttpGatewayTest, AnAddressInUseIsReported) {
  Start({});
  const auto endpoint = ParseEndpoint(gateway_->address());
  const auto second = HttpGateway::Start(*endpoint, *HttpRoles::Load({}, true), {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(second.status().message().find(gateway_->address()), std::string::npos);
}

// What has come until `end` is in it; less where nothing more comes for a while.
std::string ReadUntil(const Descriptor& connection, const std::string& end) {
  const timeval patience = {.tv_sec = 5, .tv_usec = 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  std::string text;
  char buffer[4096];
  while (text.find(end) == std::string::npos) {
    const ssize_t size = recv(connection.get(), buffer, sizeof(buffer), 0);
    if (size <= 0) break;
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

// Until it is so, for some seconds.
bool ComesTrue(const std::function<bool()>& is_so) {
  for (int i = 0; i < 500 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_so();
}

constexpr char kListen[] = "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n";

TEST_F(HttpGatewayTest, ListenersAreToldWhatIsPublished) {
  Start({});
  EXPECT_FALSE(gateway_->HasListeners());
  gateway_->Publish("changed", Json::array({"nobody hears it"}));
  {
    const Descriptor first = Say(kListen), second = Say(kListen);
    EXPECT_NE(ReadUntil(first, "\n\n").find("200 OK\r\nContent-Type: text/event-stream"), std::string::npos);
    ReadUntil(second, "\n\n");
    EXPECT_TRUE(gateway_->HasListeners());
    // Names of strangers stay on their line.
    gateway_->Publish("changed", Json::array({"jobs\n\nevent: x"}));
    for (const Descriptor* listener : {&first, &second}) {
      EXPECT_EQ(ReadUntil(*listener, "\n\n"), "event: changed\ndata: [\"jobs\\n\\nevent: x\"]\n\n");
    }
    EXPECT_EQ(Get("/v1/events"), 200) << "as a list for those who do not listen";
  }
  EXPECT_TRUE(ComesTrue([&] { return !gateway_->HasListeners(); })) << "those who have gone are forgotten";
}

TEST_F(HttpGatewayTest, AListenerThatTakesNothingIsGivenUp) {
  Start({});
  const Descriptor idle = Say(kListen);
  ASSERT_TRUE(ComesTrue([&] { return gateway_->HasListeners(); }));
  // More than the kernel keeps for it, and 256 KiB of ours.
  const std::string big(1 << 20, 'x');
  EXPECT_TRUE(ComesTrue([&] {
    gateway_->Publish("changed", Json::array({big}));
    return !gateway_->HasListeners();
  }));
  EXPECT_EQ(Get("/v1/jobs"), 200);
}

}  // namespace
}  // namespace fairlead::service
