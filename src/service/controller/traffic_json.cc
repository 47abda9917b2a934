#include "service/controller/traffic_json.h"

#include "model/job_identity.h"
#include "traffic/path_messages.h"

namespace fairlead::service {
namespace {

// Time 0: it has not happened.
Json SecondsUnlessNone(SimTime time) { return time.ns() == 0 ? Json() : Json(time.seconds().value()); }

template <class Quantity>
Json ValueOf(const std::optional<Quantity>& quantity) {
  return quantity ? Json(quantity->value()) : Json();
}

Json ToJson(const controller::QueuePairOnFabric& queue_pair, const topology::Fabric& fabric) {
  Json links = Json::array();
  for (const LinkId link : queue_pair.links) links.push_back(fabric.LinkName(link));
  return {{"job", queue_pair.job},
          {"connection", queue_pair.connection},
          {"queue_pair", queue_pair.queue_pair},
          {"pid", queue_pair.pid == 0 ? Json() : Json(queue_pair.pid)},
          {"source", fabric.NodeName(fabric.node_of(queue_pair.source))},
          {"destination", fabric.NodeName(fabric.node_of(queue_pair.destination))},
          {"answer", Name(queue_pair.answer.kind)},
          {"plane", queue_pair.answer.plane},
          {"source_port", queue_pair.answer.port},
          {"wire_port", queue_pair.wire_port},
          {"links", std::move(links)}};
}

}  // namespace

Json JobsJson(std::span<const controller::JobOnFabric> jobs, const topology::Fabric& fabric) {
  Json list = Json::array();
  for (const controller::JobOnFabric& job : jobs) {
    const auto identity = model::ParseJobKey(job.name);
    list.push_back({{"name", job.name},
                    {"owner", identity.has_value() && identity->is_owner_verified ? Json(identity->owner) : Json()},
                    {"level", job.level},
                    {"reason", job.reason},
                    {"hosts", job.num_hosts},
                    {"connections", job.num_connections},
                    {"unmanaged_queue_pairs", job.num_unmanaged},
                    {"gpus", job.num_gpus},
                    {"iteration_s", ValueOf(job.iteration_time)},
                    {"fastest_iteration_s", ValueOf(job.fastest_iteration)},
                    {"lost_gpus", job.lost_gpus() ? Json(*job.lost_gpus()) : Json()},
                    {"fullest_link", job.fullest_link.valid() ? Json(fabric.LinkName(job.fullest_link)) : Json()},
                    {"shares_with", job.shares_with},
                    {"intensity_flop_per_s", ValueOf(job.intensity)}});
  }
  return {{"jobs", std::move(list)}};
}

Json ConnectionsJson(std::span<const controller::QueuePairOnFabric> queue_pairs, const topology::Fabric& fabric,
                     const std::string& job, size_t limit) {
  Json list = Json::array();
  size_t total = 0;
  for (const controller::QueuePairOnFabric& queue_pair : queue_pairs) {
    if (!job.empty() && queue_pair.job != job) continue;
    if (total++ < limit) list.push_back(ToJson(queue_pair, fabric));
  }
  return {{"total", total}, {"connections", std::move(list)}};
}

Json EventsJson(const std::deque<TrafficEvent>& events) {
  Json list = Json::array();
  for (const TrafficEvent& event : events) {
    const bool is_warning = event.note.severity == controller::Noted::Severity::kWarning;
    list.push_back({{"number", event.number},
                    {"time_s", SecondsUnlessNone(event.time)},
                    {"severity", is_warning ? "warning" : "info"},
                    {"subject", event.note.subject},
                    {"text", event.note.text}});
  }
  return {{"events", std::move(list)}};
}

}  // namespace fairlead::service
