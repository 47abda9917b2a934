#include "diagnosis/c4d/received_load.h"

#include <algorithm>
#include <cmath>

#include "diagnosis/c4d/robust_statistics.h"

namespace fairlead::diagnosis::c4d {
namespace {

// A median of fewer says little.
constexpr size_t kMembersMin = 3;

// What is left of 1 after that time; clocks of hosts differ, so it may be less than nothing.
double Faded(SimDuration passed) {
  return std::exp2(-std::max(0.0, passed.seconds().value()) / ReceivedLoad::kHalfLife);
}

}  // namespace

void ReceivedLoad::Add(const model::RankReport& report) {
  if (report.rank.index() >= ranks_.size()) return;
  for (const model::OperationRecord& operation : report.operations) {
    const size_t communicator = operation.communicator.index();
    if (operation.kind != model::OperationKind::kAllToAll || communicator >= has_all_to_all_.size()) continue;
    has_all_to_all_[communicator] = true;
  }
  std::vector<Received>& all = ranks_[report.rank.index()];
  for (const model::ConnectionRecord& connection : report.connections) {
    if (connection.key.direction != model::Direction::kReceive) continue;
    if (connection.key.communicator.index() >= layout_.communicators.size()) continue;
    auto received = std::ranges::find(all, connection.key.communicator, &Received::communicator);
    if (received == all.end()) {
      received = all.insert(received, {.communicator = connection.key.communicator, .bytes = 0, .at = report.at});
    }
    received->bytes = received->bytes * Faded(report.at - received->at) + static_cast<double>(connection.bytes);
    received->at = std::max(received->at, report.at);
  }
}

double ReceivedLoad::BytesOf(model::RankId rank, model::CommunicatorId communicator, SimTime at) const {
  const std::vector<Received>& all = ranks_[rank.index()];
  const auto received = std::ranges::find(all, communicator, &Received::communicator);
  return received == all.end() ? 0 : received->bytes * Faded(at - received->at);
}

double ReceivedLoad::FactorOf(model::RankId rank, const std::function<bool(model::CommunicatorId)>& is_exchange) const {
  if (!rank.valid() || rank.index() >= ranks_.size()) return 1;
  double greatest = 1;
  for (const Received& own : ranks_[rank.index()]) {
    if (!has_all_to_all_[own.communicator.index()] && !is_exchange(own.communicator)) continue;
    std::vector<double> bytes;
    for (const model::RankId member : layout_.communicators[own.communicator.index()].ranks) {
      const double received = BytesOf(member, own.communicator, own.at);
      if (received > 0) bytes.push_back(received);
    }
    if (bytes.size() < kMembersMin) continue;
    const double usual = MedianInPlace(bytes);
    if (usual > 0) greatest = std::max(greatest, BytesOf(rank, own.communicator, own.at) / usual);
  }
  return greatest;
}

}  // namespace fairlead::diagnosis::c4d
