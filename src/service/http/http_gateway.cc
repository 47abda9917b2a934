#include "service/http/http_gateway.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "model/job_identity.h"
#include "service/http/http_head.h"
#include "service/http/http_server.h"
#include "service/http/web_files.h"

namespace fairlead::service {
namespace {

using httplib::Request;
using httplib::Response;

constexpr char kJsonType[] = "application/json";
constexpr char kHealthPath[] = "/healthz";
constexpr char kNeedsToken[] = "this needs a token: send Authorization: Bearer TOKEN";
constexpr char kNeedsOperator[] = "this needs the token of an operator";
constexpr size_t kConnectionsMax = 10'000;

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
  if (name.ends_with(".svg")) return "image/svg+xml";
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

const char* ReasonOf(int code) {
  switch (code) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 413:
      return "Payload Too Large";
    case 421:
      return "Misdirected Request";
    default:
      return "Refused";
  }
}

// To a request that is not read on.
std::string WriteRefusal(const HttpRefusal& refusal) {
  const std::string body = Text({{"error", refusal.message}});
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\n{}Content-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      refusal.code, ReasonOf(refusal.code), kJsonType, refusal.code == 401 ? "WWW-Authenticate: Bearer\r\n" : "",
      body.size(), body);
}

// A request that is all here, and what is answered.
class MemoryStream final : public httplib::Stream {
 public:
  MemoryStream(const std::string& request, const std::string& client) : request_(request), client_(client) {}
  bool is_readable() const override { return position_ < request_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    const size_t count = request_.copy(to, size, position_);
    position_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, size_t size) override {
    answer_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = client_;
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return INVALID_SOCKET; }
  std::string TakeAnswer() { return std::move(answer_); }

 private:
  const std::string& request_;
  const std::string& client_;
  size_t position_ = 0;
  std::string answer_;
};

// The library's routes and answers, without its sockets and threads: HttpServer has those.
class Routes final : public httplib::Server {
 public:
  std::string Answer(const std::string& request, const std::string& client) {
    MemoryStream stream(request, client);
    bool is_closed = false;
    process_request(stream, true, is_closed, {});
    return stream.TakeAnswer();
  }
};

}  // namespace

class HttpGateway::Impl {
 public:
  Impl(const Endpoint& endpoint, HttpRoles roles, GatewaySource source)
      : endpoint_(endpoint), roles_(std::move(roles)), source_(std::move(source)) {}

  Status Listen();
  std::string address() const { return endpoint_.ToString(); }
  HttpServer& server() { return *http_server_; }

 private:
  // Of a request for events as they come, where it may have them.
  std::optional<std::string> BeginStream(const HttpHead& head) const;
  // Before anything of a body is read.
  HttpRefusal Admit(const HttpHead& head) const;
  void AddRoutes();
  void AddJson(const std::string& path, const std::function<Json()>& make);
  // Whether it may go on; else the refusal is in `response`.
  std::string WhoIs(const Request& request) const;
  bool Allow(const Request& request, HttpRole needed, Response& response) const;
  void ShowHealth(Response& response) const;
  void ShowConnections(const Request& request, Response& response) const;
  void ReportLink(const Request& request, Response& response) const;
  void AddRoute(const HttpRoute& route);

  Endpoint endpoint_;
  const HttpRoles roles_;
  const GatewaySource source_;
  Routes server_;
  std::unique_ptr<HttpServer> http_server_;  // last: it ends before what it uses
};

Status HttpGateway::Impl::Listen() {
  if (endpoint_.is_unix()) return InvalidArgument("--http: expected HOST:PORT, found a UNIX socket");
  AddRoutes();
  FL_ASSIGN_OR_RETURN(
      http_server_,
      HttpServer::Open(endpoint_, {},
                       {.admit = [this](const HttpHead& head) { return Admit(head); },
                        .is_about_health = [](const HttpHead& head) { return head.path() == kHealthPath; },
                        .answer = [this](const std::string& request,
                                         const std::string& client) { return server_.Answer(request, client); },
                        .begin_stream = [this](const HttpHead& head) { return BeginStream(head); },
                        .refuse = WriteRefusal}));
  endpoint_.port = http_server_->port();
  return OkStatus();
}

HttpRefusal HttpGateway::Impl::Admit(const HttpHead& head) const {
  // Where no token is asked for, a page of another site must not get in under its own name.
  const std::string_view host = head.Value("host");
  if (endpoint_.is_local() && !host.empty() && !IsOwnHost(host, roles_.host_names())) {
    return {421, "this gateway has another name: call it by its address, or name it by --http-host"};
  }
  const bool changes = head.method == "POST";
  if (!changes && head.method != "GET" && head.method != "HEAD") return {405, "expected GET or POST"};
  if (!changes && head.content_length > 0) return {400, "expected no body"};
  const HttpRole role = roles_.RoleOf(head.Value("authorization"));
  if (changes && role != HttpRole::kOperator) {
    return role == HttpRole::kAnonymous ? HttpRefusal{401, kNeedsToken} : HttpRefusal{403, kNeedsOperator};
  }
  return {};
}

std::optional<std::string> HttpGateway::Impl::BeginStream(const HttpHead& head) const {
  const bool is_stream = head.method == "GET" && head.path() == "/v1/events" &&
                         head.Value("accept").find("text/event-stream") != std::string_view::npos;
  if (!is_stream || roles_.RoleOf(head.Value("authorization")) < HttpRole::kReader) return std::nullopt;
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
         ": events as they come\n\n";
}

bool HttpGateway::Impl::Allow(const Request& request, HttpRole needed, Response& response) const {
  const HttpRole role = roles_.RoleOf(request.get_header_value("Authorization"));
  if (role >= needed) return true;
  if (role == HttpRole::kAnonymous) {
    response.set_header("WWW-Authenticate", "Bearer");
    AnswerError(response, 401, kNeedsToken);
  } else {
    AnswerError(response, 403, kNeedsOperator);
  }
  return false;
}

// "anna@10.0.0.7"; without a name the address.
std::string HttpGateway::Impl::WhoIs(const Request& request) const {
  const std::string name = roles_.NameOf(request.get_header_value("Authorization"));
  return name.empty() ? request.remote_addr : name + "@" + request.remote_addr;
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
  const Status done = source_.report_link(name, report->health, report->both_directions, WhoIs(request));
  if (!done.ok()) return AnswerError(response, CodeOf(done), done.message());
  Answer(response, {{"link", name}, {"health", report->health}, {"both_directions", report->both_directions}});
}

void HttpGateway::Impl::AddRoute(const HttpRoute& route) {
  if (route.show) AddJson(route.path, route.show);
  if (route.ask) {
    server_.Get(route.path, [this, &route](const Request& request, Response& response) {
      if (!Allow(request, HttpRole::kReader, response)) return;
      HttpQuery query;
      for (const auto& [name, value] : request.params) query.emplace(name, value);
      const auto answer = route.ask(query);
      if (!answer.ok()) return AnswerError(response, CodeOf(answer.status()), answer.status().message());
      Answer(response, *answer);
    });
  }
  if (!route.change) return;
  server_.Post(route.path, [this, &route](const Request& request, Response& response) {
    if (!Allow(request, HttpRole::kOperator, response)) return;
    if (!request.get_header_value("Content-Type").starts_with(kJsonType)) {
      return AnswerError(response, 400, "expected Content-Type: application/json");
    }
    const Json body = Json::parse(request.body, nullptr, false);
    if (!body.is_object()) return AnswerError(response, 400, "expected a JSON object");
    const auto done = route.change(body, WhoIs(request));
    if (!done.ok()) return AnswerError(response, CodeOf(done.status()), done.status().message());
    Answer(response, *done);
  });
}

void HttpGateway::Impl::AddRoutes() {
  server_.Get(kHealthPath, [this](const Request&, Response& response) { ShowHealth(response); });
  AddJson("/v1/jobs", source_.jobs);
  AddJson("/v1/findings", source_.findings);
  server_.Get(R"(/v1/findings/(\d{1,9}))", [this](const Request& request, Response& response) {
    if (!Allow(request, HttpRole::kReader, response)) return;
    const std::optional<Json> finding = source_.finding(static_cast<uint32_t>(std::stoul(request.matches[1])));
    if (finding.has_value()) return Answer(response, *finding);
    AnswerError(response, 404, fmt::format("there is no finding {}", std::string(request.matches[1])));
  });
  server_.Get(R"(/v1/jobs/(.+)/trace)", [this](const Request& request, Response& response) {
    if (!Allow(request, HttpRole::kReader, response)) return;
    if (!source_.job_trace) return AnswerError(response, 404, "there are no timelines here");
    const auto trace = source_.job_trace(request.matches[1]);
    if (trace.ok()) return Answer(response, *trace);
    AnswerError(response, CodeOf(trace.status()), trace.status().message());
  });
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

void HttpGateway::Publish(const std::string& event, const Json& data) {
  // JSON has no line breaks of its own but that which Text() ends with; an empty line ends the event.
  impl_->server().Publish(fmt::format("event: {}\ndata: {}\n", event, Text(data)));
}

bool HttpGateway::HasListeners() const { return impl_->server().num_listeners() > 0; }

}  // namespace fairlead::service
