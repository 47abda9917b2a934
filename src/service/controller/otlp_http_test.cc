#include "service/controller/otlp_http.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"

namespace fairlead::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Far beyond the deadlines below; a busy machine is slow.
constexpr std::chrono::seconds kHttpPatience{10};

// As the daemon does: some of these collectors close while they are written to.
[[maybe_unused]] const auto kIgnoresClosedPipes = std::signal(SIGPIPE, SIG_IGN);

// Does with each connection what it was told to, one after the other.
class RawServer {
 public:
  using Serve = std::function<void(int socket, const std::atomic<bool>& is_over)>;

  explicit RawServer(Serve serve) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
      while (!is_over_) {
        const Descriptor client(accept(listener_.get(), nullptr, nullptr));
        if (client.is_open()) serve(client.get(), is_over_);
      }
    });
  }
  ~RawServer() {
    is_over_ = true;
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  Descriptor listener_;
  uint16_t port_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

void Say(int socket, const std::string& text) {
  [[maybe_unused]] const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
}

// What a collector that behaves so makes of a request; it has to come back soon.
OtlpAnswer PostTo(const RawServer& server, milliseconds deadline = milliseconds(300)) {
  const auto begin = steady_clock::now();
  auto http = OtlpHttp::Open({.url = server.url(), .deadline = deadline});
  EXPECT_TRUE(http.ok());
  OtlpAnswer answer = (*http)->Post("{}");
  EXPECT_LT(steady_clock::now() - begin, kHttpPatience);
  return answer;
}

TEST(OtlpHttp, PostsJsonToThePath) {
  httplib::Server server;
  std::mutex mutex;
  std::vector<httplib::Request> requests;
  server.Post("/v1/traces", [&](const httplib::Request& request, httplib::Response& response) {
    const std::lock_guard lock(mutex);
    requests.push_back(request);
    if (requests.size() == 1) {
      response.status = 503;
      response.set_header("Retry-After", "7");
      response.set_content(R"({"message": "busy"})", "application/json");
      return;
    }
    response.set_content("{}", "application/json");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { server.listen_after_bind(); });
  auto http = OtlpHttp::Open({.url = fmt::format("http://127.0.0.1:{}", port)});
  ASSERT_TRUE(http.ok());
  const OtlpAnswer busy = (*http)->Post("first");
  EXPECT_EQ(busy.outcome, OtlpOutcome::kLater);
  EXPECT_EQ(busy.retry_after_s, 7);
  EXPECT_EQ(busy.text, "answered 503: busy");
  EXPECT_EQ((*http)->Post("second").outcome, OtlpOutcome::kTaken);
  auto elsewhere = OtlpHttp::Open({.url = fmt::format("http://127.0.0.1:{}/other", port)});
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_EQ((*elsewhere)->Post("third").outcome, OtlpOutcome::kRefused) << "404: another time it is the same";
  server.stop();
  thread.join();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].body, "second");
  EXPECT_EQ(requests[1].get_header_value("Content-Type"), "application/json");
  const OtlpAnswer away = (*http)->Post("fourth");
  EXPECT_EQ(away.outcome, OtlpOutcome::kLater);
  EXPECT_EQ(away.text, "no connection");
}

TEST(OtlpHttp, WhatIsNoHttpIsTriedAgain) {
  for (const char* garbage :
       {"garbage\r\n\r\n", "", "HTTP/1.1 abc\r\n\r\n", "\x16\x03\x01", "HTTP/1.1 99999999999 x\r\n\r\n"}) {
    const RawServer server([&](int socket, const std::atomic<bool>&) { Say(socket, garbage); });
    EXPECT_EQ(PostTo(server).outcome, OtlpOutcome::kLater) << garbage;
  }
}

TEST(OtlpHttp, ACollectorThatHangsHasTheDeadline) {
  const RawServer server([](int, const std::atomic<bool>& is_over) {
    for (int i = 0; i < 2000 && !is_over; ++i) std::this_thread::sleep_for(milliseconds(5));
  });
  EXPECT_EQ(PostTo(server).outcome, OtlpOutcome::kLater);
}

TEST(OtlpHttp, ACollectorThatTalksForeverHasTheDeadline) {
  const auto trickle = [](const char* begin, const char* word) {
    return RawServer::Serve([begin, word](int socket, const std::atomic<bool>& is_over) {
      Say(socket, begin);
      for (int i = 0; i < 2000 && !is_over; ++i) {
        Say(socket, word);
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  };
  const RawServer headers(trickle("HTTP/1.1 200 OK\r\n", "X: y\r\n"));
  EXPECT_EQ(PostTo(headers).outcome, OtlpOutcome::kLater);
  // Its first line says that it has taken the trace.
  const RawServer body(trickle("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", "x"));
  EXPECT_EQ(PostTo(body).outcome, OtlpOutcome::kTaken);
}

TEST(OtlpHttp, ReadsOnlyTheBeginOfALongAnswer) {
  std::atomic<size_t> sent = 0;
  const RawServer server([&](int socket, const std::atomic<bool>&) {
    Say(socket, "HTTP/1.1 400 Bad\r\nContent-Length: 100000000\r\n\r\n");
    const std::string part(100'000, 'x');
    while (sent < 100'000'000 && send(socket, part.data(), part.size(), MSG_NOSIGNAL) > 0) sent += part.size();
  });
  const OtlpAnswer answer = PostTo(server, std::chrono::seconds(5));
  EXPECT_EQ(answer.outcome, OtlpOutcome::kRefused);
  EXPECT_LT(answer.text.size(), 300u);
  EXPECT_LT(sent, 100'000'000u);
}

TEST(OtlpHttp, StopBreaksOffARequest) {
  std::atomic<bool> has_begun = false;
  const RawServer server([&](int, const std::atomic<bool>& is_over) {
    has_begun = true;
    for (int i = 0; i < 2000 && !is_over; ++i) std::this_thread::sleep_for(milliseconds(5));
  });
  auto http = OtlpHttp::Open({.url = server.url(), .deadline = std::chrono::minutes(10)});
  ASSERT_TRUE(http.ok());
  std::thread stopper([&] {
    while (!has_begun) std::this_thread::sleep_for(milliseconds(1));
    (*http)->Stop();
  });
  const auto begin = steady_clock::now();
  EXPECT_EQ((*http)->Post("{}").outcome, OtlpOutcome::kLater);
  EXPECT_LT(steady_clock::now() - begin, kHttpPatience);
  stopper.join();
}

TEST(OtlpHttp, CertificatesMustBeThereAndOfUse) {
  EXPECT_THAT(OtlpHttp::Open({.url = "https://a", .ca = "/nowhere/ca.pem"}).status().message(),
              HasSubstr("--otlp-ca: /nowhere/ca.pem"));
  EXPECT_THAT(OtlpHttp::Open({.url = "http://a", .ca = "/nowhere/ca.pem"}).status().message(),
              HasSubstr("expected https://"));
}

TEST(OtlpUrl, IsTakenApart) {
  const auto parts = [](const std::string& url) {
    const auto read = ParseOtlpUrl(url);
    return read.ok() ? read->origin + " " + read->path : "error: " + read.status().message();
  };
  EXPECT_EQ(parts("http://collector:4318/v1/traces"), "http://collector:4318 /v1/traces");
  EXPECT_EQ(parts("https://otel.example.com"), "https://otel.example.com /v1/traces");
  EXPECT_EQ(parts("http://collector:4318/"), "http://collector:4318 /v1/traces");
  EXPECT_EQ(parts("http://collector/otlp/v1/traces?tenant=a"), "http://collector /otlp/v1/traces?tenant=a");
  EXPECT_EQ(parts("http://[::1]:4318"), "http://[::1]:4318 /v1/traces");
  EXPECT_EQ(parts("http://[::1]"), "http://[::1] /v1/traces");
  for (const char* bad : {"",
                          "collector:4318",
                          "ftp://collector",
                          "HTTP//x",
                          "http://",
                          "http://:4318",
                          "http:///v1",
                          "http://a b",
                          "http://a:0",
                          "http://a:65536",
                          "http://a:4x",
                          "http://a:",
                          "http://u:p@a",
                          "http://a/b c",
                          "http://a/#x",
                          "http://a/\n",
                          "http://a\r\nX: y",
                          "grpc://a:4317",
                          "http://[",
                          "http://[]",
                          "http://a:b:c"}) {
    const std::string message = parts(bad);
    EXPECT_THAT(message, ::testing::StartsWith("error: --otlp ")) << bad;
    EXPECT_THAT(message, HasSubstr("expected http://HOST:PORT/v1/traces")) << bad;
    EXPECT_EQ(message.find('\n'), std::string::npos) << bad;
  }
  EXPECT_FALSE(ParseOtlpUrl("http://a/" + std::string(5000, 'x')).ok());
}

TEST(OtlpAnswer, SaysWhetherItIsWorthTryingAgain) {
  const auto outcome = [](int status) { return ReadOtlpAnswer(status, "", "", 0).outcome; };
  for (const int status : {200, 202, 204}) EXPECT_EQ(outcome(status), OtlpOutcome::kTaken) << status;
  for (const int status : {429, 502, 503, 504}) EXPECT_EQ(outcome(status), OtlpOutcome::kLater) << status;
  for (const int status : {301, 307, 400, 401, 403, 404, 413, 500, 501}) {
    EXPECT_EQ(outcome(status), OtlpOutcome::kRefused) << status;
  }
}

TEST(OtlpAnswer, TellsWhenToTryAgain) {
  const auto after = [](std::string_view header) {
    return ReadOtlpAnswer(503, "", header, 1'000'000'000).retry_after_s;
  };
  EXPECT_EQ(after(""), std::nullopt);
  EXPECT_EQ(after(" 30 "), 30);
  EXPECT_EQ(after("0"), 0);
  EXPECT_EQ(after("-5"), std::nullopt);
  EXPECT_EQ(after("soon"), std::nullopt);
  EXPECT_EQ(after("99999999999999999999"), std::nullopt);
  EXPECT_EQ(after("Sun, 09 Sep 2001 01:47:40 GMT"), 60);  // 1e9 s is 01:46:40 of that day
  EXPECT_EQ(after("Sun, 09 Sep 2001 01:40:00 GMT"), 0);
}

TEST(OtlpAnswer, QuotesTheCollector) {
  EXPECT_EQ(ReadOtlpAnswer(400, R"({"code": 3, "message": "bad span\nid"})", "", 0).text, "answered 400: bad span");
  EXPECT_EQ(ReadOtlpAnswer(404, "<html>\nnot found", "", 0).text, "answered 404: <html>");
  EXPECT_EQ(ReadOtlpAnswer(413, "", "", 0).text, "answered 413");
  EXPECT_LT(ReadOtlpAnswer(400, std::string(100'000, 'x'), "", 0).text.size(), 300u);
  EXPECT_THAT(
      ReadOtlpAnswer(200, R"({"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}})", "", 0).text,
      "2 spans were rejected: too old");
  for (const char* fine : {"", "{}", "garbage", R"({"partialSuccess": {}})",
                           R"({"partialSuccess": {"rejectedSpans": 0}})", R"({"partialSuccess": 7})"}) {
    EXPECT_THAT(ReadOtlpAnswer(200, fine, "", 0).text, IsEmpty()) << fine;
  }
}

}  // namespace
}  // namespace fairlead::service
