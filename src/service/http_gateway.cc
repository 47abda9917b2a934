#include "service/http_gateway.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <thread>
#include <utility>

#include "model/job_identity.h"
#include "service/web_files.h"

namespace fairlead::service {
namespace {

using httplib::Request;
using httplib::Response;

constexpr char kJsonType[] = "application/json";
constexpr size_t kConnectionsMax = 10'000;
constexpr size_t kBodyBytesMax = 64 << 10;
// A connection holds a thread while it lasts, also one that says nothing, or keeps itself for a next request: pages in
// browsers have up to six. Few threads, and two open pages would shut out all others.
constexpr size_t kThreads = 64;
constexpr time_t kIdleSeconds = 1;     // before a request begins
constexpr time_t kSilenceSeconds = 2;  // in the middle of one

std::string Text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

void Answer(Response& response, const Json& json, int code = 200) {
  response.status = code;
  response.set_header("Cache-Control", "no-store");
  response.set_content(Text(json), kJsonType);
}

void AnswerError(Response& response, int code, const std::string& message) {
  Answer(response, {{"error", message}}, code);
}

const char* TypeOf(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript";
  if (name.ends_with(".css")) return "text/css";
  return "text/html; charset=utf-8";
}

int CodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    default:
      return 503;
  }
}

struct LinkReport {
  double health = 1;
  bool both_directions = true;
};

Result<LinkReport> ReadLinkReport(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return InvalidArgument("expected an object such as {\"health\": 0.5}");
  LinkReport report;
  const auto health = json.find("health");
  if (health == json.end() || !health->is_number()) return InvalidArgument("health: expected a number of 0 to 1");
  report.health = health->get<double>();
  if (!(report.health >= 0 && report.health <= 1)) {
    return InvalidArgument(fmt::format("health: expected 0 to 1, found {}", report.health));
  }
  if (const auto both = json.find("both_directions"); both != json.end()) {
    if (!both->is_boolean()) return InvalidArgument("both_directions: expected true or false");
    report.both_directions = both->get<bool>();
  }
  for (const auto& item : json.items()) {
    if (item.key() != "health" && item.key() != "both_directions") {
      return InvalidArgument(fmt::format("unknown key '{}'; known are health and both_directions", item.key()));
    }
  }
  return report;
}

}  // namespace

class HttpGateway::Impl {
 public:
  Impl(const Endpoint& endpoint, HttpRoles roles, GatewaySource source)
      : endpoint_(endpoint), roles_(std::move(roles)), source_(std::move(source)) {}
  ~Impl() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status Listen();
  std::string address() const { return endpoint_.ToString(); }

 private:
  void AddRoutes();
  void AddJson(const std::string& path, const std::function<Json()>& make);
  // Whether it may go on; else the refusal is in `response`.
  bool Allow(const Request& request, HttpRole needed, Response& response) const;
  void ShowHealth(Response& response) const;
  void ShowConnections(const Request& request, Response& response) const;
  void ReportLink(const Request& request, Response& response) const;
  void AddRoute(const HttpRoute& route);

  Endpoint endpoint_;
  const HttpRoles roles_;
  const GatewaySource source_;
  httplib::Server server_;
  int listener_ = -1;  // of server_
  std::thread thread_;
};

Status HttpGateway::Impl::Listen() {
  if (endpoint_.is_unix()) return InvalidArgument("--http: expected HOST:PORT, found a UNIX socket");
  FL_RETURN_IF_ERROR(CheckCanListen(endpoint_));
  server_.set_payload_max_length(kBodyBytesMax);
  server_.set_keep_alive_max_count(100);
  server_.set_keep_alive_timeout(kIdleSeconds);
  server_.set_read_timeout(kSilenceSeconds);
  server_.set_write_timeout(kSilenceSeconds);
  // The library's default is SO_REUSEPORT, with which two gateways would share a port.
  server_.set_socket_options([this](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    listener_ = socket;
  });
  server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  AddRoutes();
  const int port = endpoint_.port == 0
                       ? server_.bind_to_any_port(endpoint_.host.c_str())
                       : (server_.bind_to_port(endpoint_.host.c_str(), endpoint_.port) ? endpoint_.port : -1);
  if (port <= 0) {
    return {StatusCode::kFailedPrecondition, fmt::format("can't listen on {} for HTTP", endpoint_.ToString())};
  }
  endpoint_.port = static_cast<uint16_t>(port);
  // The library lets five connections wait, and the sixth client tries again a second later.
  listen(listener_, SOMAXCONN);
  thread_ = std::thread([this] { server_.listen_after_bind(); });
  while (!server_.is_running()) std::this_thread::yield();
  return OkStatus();
}

bool HttpGateway::Impl::Allow(const Request& request, HttpRole needed, Response& response) const {
  const HttpRole role = roles_.RoleOf(request.get_header_value("Authorization"));
  if (role >= needed) return true;
  if (role == HttpRole::kAnonymous) {
    response.set_header("WWW-Authenticate", "Bearer");
    AnswerError(response, 401, "this needs a token: send Authorization: Bearer TOKEN");
  } else {
    AnswerError(response, 403, "this needs the token of an operator");
  }
  return false;
}

void HttpGateway::Impl::AddJson(const std::string& path, const std::function<Json()>& make) {
  server_.Get(path, [this, make](const Request& request, Response& response) {
    if (Allow(request, HttpRole::kReader, response)) Answer(response, make());
  });
}

void HttpGateway::Impl::ShowHealth(Response& response) const {
  const Status health = source_.health();
  if (health.ok()) return Answer(response, {{"status", "ok"}});
  Answer(response, {{"status", "degraded"}, {"error", health.message()}}, 503);
}

void HttpGateway::Impl::ShowConnections(const Request& request, Response& response) const {
  size_t limit = kConnectionsMax;
  if (const std::string text = request.get_param_value("limit"); !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (error != std::errc() || end != text.data() + text.size()) {
      return AnswerError(response, 400, "limit: expected a number");
    }
  }
  const std::string job = request.get_param_value("job");
  if (!job.empty()) {
    if (const Status name = model::CheckJobKey(job, "job"); !name.ok()) {
      return AnswerError(response, 400, name.message());
    }
  }
  Answer(response, source_.connections(job, std::min(limit, kConnectionsMax)));
}

void HttpGateway::Impl::ReportLink(const Request& request, Response& response) const {
  if (!request.get_header_value("Content-Type").starts_with(kJsonType)) {
    return AnswerError(response, 400, "expected Content-Type: application/json");
  }
  const auto report = ReadLinkReport(request.body);
  if (!report.ok()) return AnswerError(response, CodeOf(report.status()), report.status().message());
  const std::string name = request.matches[1];
  const Status done = source_.report_link(name, report->health, report->both_directions, request.remote_addr);
  if (!done.ok()) return AnswerError(response, CodeOf(done), done.message());
  Answer(response, {{"link", name}, {"health", report->health}, {"both_directions", report->both_directions}});
}

void HttpGateway::Impl::AddRoute(const HttpRoute& route) {
  if (route.show) AddJson(route.path, route.show);
  if (!route.change) return;
  server_.Post(route.path, [this, &route](const Request& request, Response& response) {
    if (!Allow(request, HttpRole::kOperator, response)) return;
    if (!request.get_header_value("Content-Type").starts_with(kJsonType)) {
      return AnswerError(response, 400, "expected Content-Type: application/json");
    }
    const Json body = Json::parse(request.body, nullptr, false);
    if (!body.is_object()) return AnswerError(response, 400, "expected a JSON object");
    const auto done = route.change(body, request.remote_addr);
    if (!done.ok()) return AnswerError(response, CodeOf(done.status()), done.status().message());
    Answer(response, *done);
  });
}

void HttpGateway::Impl::AddRoutes() {
  server_.Get("/healthz", [this](const Request&, Response& response) { ShowHealth(response); });
  AddJson("/v1/hosts", source_.hosts);
  AddJson("/v1/jobs", source_.jobs);
  AddJson("/v1/links", source_.links);
  AddJson("/v1/findings", source_.findings);
  AddJson("/v1/events", source_.events);
  server_.Get("/v1/connections", [this](const Request& request, Response& response) {
    if (Allow(request, HttpRole::kReader, response)) ShowConnections(request, response);
  });
  server_.Get("/metrics", [this](const Request& request, Response& response) {
    if (!Allow(request, HttpRole::kReader, response)) return;
    response.set_content(source_.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server_.Post(R"(/v1/links/(.+))", [this](const Request& request, Response& response) {
    if (Allow(request, HttpRole::kOperator, response)) ReportLink(request, response);
  });
  for (const HttpRoute& route : source_.routes) AddRoute(route);
  // The page itself says nothing of the cluster: it asks for the rest with the reader's token.
  for (const WebFile& file : WebFiles()) {
    const std::string path = file.name == "index.html" ? "/" : "/" + std::string(file.name);
    server_.Get(path, [&file](const Request&, Response& response) {
      response.set_header("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'");
      response.set_content(file.text.data(), file.text.size(), TypeOf(file.name));
    });
  }
  server_.set_error_handler([](const Request& request, Response& response) {
    if (!response.body.empty()) return;
    AnswerError(response, response.status,
                response.status == 404 ? fmt::format("there is no {}", request.path) : "the request can't be read");
  });
}

HttpGateway::HttpGateway(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpGateway::~HttpGateway() = default;

Result<std::unique_ptr<HttpGateway>> HttpGateway::Start(const Endpoint& endpoint, const HttpRoles& roles,
                                                        GatewaySource source) {
  auto impl = std::make_unique<Impl>(endpoint, roles, std::move(source));
  FL_RETURN_IF_ERROR(impl->Listen());
  return std::unique_ptr<HttpGateway>(new HttpGateway(std::move(impl)));
}

std::string HttpGateway::address() const { return impl_->address(); }

}  // namespace fairlead::service
