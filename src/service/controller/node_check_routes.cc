#include "service/controller/node_check_routes.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "wire/node_check_records.h"

namespace fairlead::service {
namespace {

constexpr size_t kHostsMax = 4096;

Status CheckTime(const char* key, double seconds, double most) {
  if (seconds >= 0 && seconds <= most) return OkStatus();
  return InvalidArgument(fmt::format("{}: expected 0 to {} s, found {}", key, most, seconds));
}

wire::LiveCheckedHost RecordOf(const controller::CheckedHostView& host, bool has_rates,
                               const topology::Fabric& fabric) {
  wire::LiveCheckedHost record;
  record.name = fabric.HostName(host.host);
  record.is_partner = host.is_partner;
  record.verdict = Name(host.verdict);
  record.reasons = host.reasons;
  if (has_rates && host.transfers.has_value() && host.transfers->num_partners > 0)
    record.rate_share = host.transfers->rate_share;
  record.burn_in_score = host.burn_in_score;
  return record;
}

}  // namespace

Result<controller::NodeCheckRequest> ReadNodeCheckRequest(const Json& body, const std::string& who,
                                                          const topology::Fabric& fabric) {
  wire::NodeCheckOrder order;
  const std::string fault = codec::ReadValue(codec::Json(body), codec::UnknownKeys::kRefused, &order);
  if (!fault.empty()) return InvalidArgument(codec::WithoutJoint(fault));
  FL_RETURN_IF_ERROR(CheckTime("transfer_s", order.transfer_s, 60));
  FL_RETURN_IF_ERROR(CheckTime("burn_in_s", order.burn_in_s, 600));
  if (order.hosts.size() > kHostsMax) {
    return InvalidArgument(fmt::format("hosts: expected at most {}, found {}", kHostsMax, order.hosts.size()));
  }
  controller::NodeCheckRequest request;
  request.transfer_length = SimDuration::FromSeconds(Seconds(order.transfer_s));
  request.burn_in_length = SimDuration::FromSeconds(Seconds(order.burn_in_s));
  request.num_streams = order.streams;
  request.while_training = order.while_training;
  request.who = who;
  for (const std::string& name : order.hosts) {
    const HostId host = fabric.FindHost(name);
    if (!host.valid()) return NotFound(fmt::format("no host '{}' in the fabric; names are those of /v1/hosts", name));
    request.hosts.push_back(host);
  }
  return request;
}

Json NodeChecksJson(const std::deque<controller::NodeCheckView>& checks, const topology::Fabric& fabric) {
  wire::NodeCheckList list;
  for (const controller::NodeCheckView& check : checks) {
    wire::LiveNodeCheck& record = list.checks.emplace_back();
    record.number = check.number;
    record.who = check.who;
    record.began_s = check.began.seconds().value();
    if (check.ended.has_value()) record.ended_s = check.ended->seconds().value();
    record.steps = check.num_steps;
    record.finished_steps = check.num_finished_steps;
    record.usual_bytes_per_s = check.usual_rate;
    for (const controller::CheckedHostView& host : check.hosts)
      record.hosts.push_back(RecordOf(host, !check.while_training, fabric));
  }
  return Json(codec::ToJson(list));
}

HttpRoute NodeCheckRoute(NodeCheckSource source) {
  return {.path = "/v1/checks",
          .show = source.show,
          .change = [source](const Json& body, const std::string& who) -> Result<Json> {
            FL_ASSIGN_OR_RETURN(const controller::NodeCheckRequest request,
                                ReadNodeCheckRequest(body, who, *source.fabric));
            if (const std::string fault = source.find_fault(request); !fault.empty()) return InvalidArgument(fault);
            FL_RETURN_IF_ERROR(source.audit(request));
            return Json(codec::ToJson(wire::NodeCheckBegun{.check = source.begin(request)}));
          }};
}

}  // namespace fairlead::service
