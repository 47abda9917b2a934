#include "sim/drill/relocated_records.h"

#include <variant>

namespace fairlead::sim {

namespace {

void Move(model::JobLayout& layout, const RunPlace& place) {
  for (model::RankPlace& rank : layout.ranks) {
    rank.host = place.hosts.at(rank.host.index());
    rank.nic = NicId(rank.host.value() * place.gpus_per_host + rank.gpu);
  }
}

void Move(model::RankReport& report, const RunPlace& place) {
  report.at = report.at + place.begin;
  for (model::OperationRecord& operation : report.operations) {
    operation.enqueued = operation.enqueued + place.begin;
    if (operation.started) operation.started = *operation.started + place.begin;
    if (operation.finished) operation.finished = *operation.finished + place.begin;
  }
  for (model::ConnectionRecord& connection : report.connections) {
    connection.phase_since = connection.phase_since + place.begin;
    connection.last_progress = connection.last_progress + place.begin;
  }
}

void Move(model::HostReport& report, const RunPlace& place) {
  report.host = place.hosts.at(report.host.index());
  report.at = report.at + place.begin;
}

}  // namespace

model::TelemetryRecord Relocate(model::TelemetryRecord record, const RunPlace& place) {
  std::visit([&](auto& r) { Move(r, place); }, record);
  return record;
}

}  // namespace fairlead::sim
