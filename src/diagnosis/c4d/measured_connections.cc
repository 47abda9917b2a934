#include "diagnosis/c4d/measured_connections.h"

#include <algorithm>
#include <cmath>

namespace fairlead::diagnosis::c4d {
namespace {

// A connection is lossy with this many uneven reports at least.
constexpr uint32_t kUnevenReportsMin = 3;
// What has been slower than its class in so many windows, and could not be named, is so by nature.
constexpr uint32_t kOddWindowsMin = 5;
// Messages of a connection that a receiver has buffers for, at least: NCCL has eight steps, a ring's message takes two.
constexpr double kBuffersMin = 4;

}  // namespace

MeasuredConnections::MeasuredConnections(const model::JobLayout& layout, const SlowOptions& options)
    : options_(options), seen_(layout.ranks.size()), connections_(layout.ranks.size()) {}

MeasuredConnections::Connection& MeasuredConnections::Find(model::RankId rank, const model::ConnectionKey& key) {
  auto& own = connections_[rank.index()];
  auto at = std::lower_bound(own.begin(), own.end(), key,
                             [](const Connection& connection, const auto& k) { return connection.key < k; });
  if (at == own.end() || at->key != key) at = own.insert(at, Connection{.key = key, .fit = {}, .normal_ratios = {}});
  return *at;
}

void MeasuredConnections::Add(const model::RankReport& report) {
  if (report.rank.index() >= connections_.size() || !seen_[report.rank.index()].Accept(report.number)) return;
  for (const model::ConnectionRecord& record : report.connections) {
    const model::ConnectionKey& key = record.key;
    if (record.messages == 0 || key.peer.index() >= connections_.size() || key.peer == report.rank) continue;
    if (key.direction == model::Direction::kReceive) {
      model::ConnectionKey sending = key;
      sending.direction = model::Direction::kSend;
      sending.peer = report.rank;
      Connection& connection = Find(key.peer, sending);
      connection.received += static_cast<double>(record.messages);
      connection.received_seconds += record.wait_for_peer.seconds().value();
      connection.untaken_seconds += record.wait_for_gpu.seconds().value();
      continue;
    }
    Connection& connection = Find(report.rank, key);
    const bool is_known = HasNormal(connection);
    const double usual_seconds = is_known ? std::exp(connection.normal) / connection.usual_bytes : 0;
    connection.fit.Add(record, options_.added_delay_min, is_known ? connection.normal_ratios.usual() : 0,
                       usual_seconds);
    connection.unready_seconds += record.wait_for_peer.seconds().value();
  }
}

double MeasuredConnections::AwaitedShare(const Connection& connection) {
  if (connection.received == 0 || connection.received_seconds <= 0) return 1;
  const double awaited = connection.received_seconds / connection.received;
  return std::min(1.0, awaited / connection.fit.mean_seconds());
}

double MeasuredConnections::HeldSeconds(const Connection& connection) {
  if (connection.received == 0) return 0;
  const double untaken = connection.untaken_seconds / connection.received;
  return untaken / kBuffersMin - connection.unready_seconds / static_cast<double>(connection.fit.messages());
}

ConnectionSample MeasuredConnections::SampleOf(model::RankId source, uint32_t position) const {
  const Connection& connection = connections_[source.index()][position];
  const TransferFit& fit = connection.fit;
  const double awaited = AwaitedShare(connection);
  const double log_seconds = std::log(fit.SecondsOf(connection.usual_bytes) * awaited);
  return {.source = source,
          .key = connection.key,
          .position = position,
          .has_normal = HasNormal(connection),
          .normal_log_seconds = connection.normal,
          .normal_error_2 = connection.normal_error_2,
          .usual_bytes = connection.usual_bytes,
          .log_seconds = log_seconds,
          .log_delay = log_seconds - std::log(connection.usual_bytes),
          .error_2 = std::pow(fit.LogError(), 2),
          .messages = static_cast<double>(fit.messages()),
          .uneven_share = fit.uneven_reports() >= kUnevenReportsMin && awaited == 1 ? fit.UnevenShare() : 0,
          .slowest_seconds = fit.slowest_seconds(),
          .uneven_seconds = fit.uneven_seconds(),
          .held_seconds = std::max(0.0, HeldSeconds(connection) - (HasNormal(connection) ? connection.normal_held : 0)),
          .ratios = fit.slowest_ratios()};
}

std::vector<ConnectionSample> MeasuredConnections::TakeWindow(std::span<const double> lateness) {
  std::vector<ConnectionSample> samples;
  size_t num_connections = 0;
  for (const std::vector<Connection>& own : connections_) num_connections += own.size();
  samples.reserve(num_connections);
  const auto lateness_of = [&](model::RankId rank) {
    return rank.index() < lateness.size() ? lateness[rank.index()] : 0;
  };
  for (uint32_t rank = 0; rank < connections_.size(); ++rank) {
    std::vector<Connection>& own = connections_[rank];
    for (uint32_t position = 0; position < own.size(); ++position) {
      Connection& connection = own[position];
      if (connection.fit.messages() >= options_.messages_min) {
        if (connection.normal_count == 0) connection.usual_bytes = connection.fit.mean_bytes();
        ConnectionSample& sample = samples.emplace_back(SampleOf(model::RankId(rank), position));
        const double excuse =
            std::max({lateness_of(sample.source), lateness_of(sample.key.peer), sample.held_seconds * sample.messages});
        if (sample.uneven_seconds <= excuse) sample.uneven_share = 0;
      }
      connection.fit = {};
      connection.received = connection.received_seconds = 0;
      connection.untaken_seconds = connection.unready_seconds = 0;
    }
  }
  return samples;
}

void MeasuredConnections::Learn(const ConnectionSample& sample, bool is_slow) {
  Connection& connection = connections_[sample.source.index()][sample.position];
  if (HasNormal(connection)) return;
  if (is_slow && ++connection.odd_windows < kOddWindowsMin) return;
  const double count = ++connection.normal_count;
  connection.normal += (sample.log_seconds - connection.normal) / count;
  connection.normal_held += (sample.held_seconds - connection.normal_held) / count;
  connection.normal_error_2 =
      (std::pow(count - 1, 2) * connection.normal_error_2 + sample.error_2) / std::pow(count, 2);
  connection.normal_ratios.Add(sample.ratios);
}

}  // namespace fairlead::diagnosis::c4d
