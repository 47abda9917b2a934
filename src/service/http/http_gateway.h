// HTTP in front of the controller: JSON for programs, metrics for Prometheus, a page for people.
//
//     GET  /healthz                       200 while all is kept and agents get in, 503 with the reason while not; needs
//                                         no token
//     GET  /metrics                       Prometheus' text format (docs/reference/metrics.md)
//     GET  /v1/findings/NUMBER            one finding, with its proof
//     GET  /v1/jobs/NAME/trace            what a job did lately, as a timeline for Perfetto
//     GET  /v1/events  with Accept: text/event-stream: a stream that stays open; see Publish()
//     GET  /v1/jobs, /v1/findings, /v1/events, /v1/connections?job=NAME&limit=N
//     POST /v1/links/NAME {"health": 0.5, "both_directions": true}       operators only; audited
//     GET  /                              the page
//     and the routes of other parts (GatewaySource::routes), such as steering_routes.h, host_routes.h and link_routes.h
//
// Errors are {"error": "…"} with 400 (bad input), 401 (no or a wrong token), 403 (a reader that wants to change
// something), 404, 503. What changes something has to come as application/json, which other sites' pages can't send.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "service/controller/traffic_json.h"
#include "service/http/http_roles.h"
#include "service/http/http_route.h"
#include "service/streams/endpoint.h"

namespace fairlead::service {

// What the gateway shows and changes; called from its threads, several at once.
struct GatewaySource {
  std::function<Status()> health;
  std::function<Json()> jobs;
  std::function<Json(const std::string& job, size_t limit)> connections;
  std::function<Json()> findings;
  std::function<std::optional<Json>(uint32_t number)> finding;         // nothing: there is none
  std::function<Result<Json>(const std::string& job)> job_trace = {};  // errors: kNotFound; may be empty
  std::function<Json()> events;
  std::function<std::string()> metrics;
  // Args: health 0 .. 1; `who`: for the audit log. Errors: kNotFound; kUnavailable: the audit log can't be written, and
  // nothing was done.
  std::function<Status(const std::string& link, double health, bool both_directions, const std::string& who)>
      report_link;
  std::vector<HttpRoute> routes;  // of other parts
};

class HttpGateway {
 public:
  // Listens when it returns. Errors: kFailedPrecondition: the address can't be had: says why; kInvalidArgument: a UNIX
  // socket.
  static Result<std::unique_ptr<HttpGateway>> Start(const Endpoint& endpoint, const HttpRoles& roles,
                                                    GatewaySource source);
  ~HttpGateway();
  HttpGateway(const HttpGateway&) = delete;
  HttpGateway& operator=(const HttpGateway&) = delete;

  // "127.0.0.1:8080", the port as it is.
  std::string address() const;

  // To all that listen to /v1/events, as server-sent events: "event: NAME", "data: JSON". Never waits. Thread: any.
  void Publish(const std::string& event, const Json& data);
  // Whether anybody listens: else what would be published need not be made.
  bool HasListeners() const;

 private:
  class Impl;
  explicit HttpGateway(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace fairlead::service
