#include "packet/steady_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::packet {

void RateHistory::Restart(size_t num_members, int64_t now) {
  samples_.clear();
  bytes_.assign(num_members, 0);
  num_packets_ = 0;
  since_ = now;
  is_settling_ = true;
}

bool RateHistory::OnArrival(size_t member, uint32_t bytes, int64_t now) {
  bytes_[member] += bytes;
  if (++num_packets_ < options_.packets_per_sample * bytes_.size()) return false;
  std::vector<uint64_t> arrived = std::exchange(bytes_, std::vector<uint64_t>(bytes_.size()));
  const int64_t span = now - std::exchange(since_, now);
  num_packets_ = 0;
  if (std::exchange(is_settling_, false)) return false;
  samples_.push_back({.span = span, .bytes = std::move(arrived)});
  if (samples_.size() > options_.samples) samples_.pop_front();
  return true;
}

bool RateHistory::IsSteady() const {
  if (samples_.size() < options_.samples) return false;
  for (size_t member = 0; member < bytes_.size(); ++member) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    double one_packet = 0;  // a second
    for (const Sample& sample : samples_) {
      const auto span = static_cast<double>(sample.span);
      const double rate = static_cast<double>(sample.bytes[member]) / span;
      least = std::min(least, rate);
      most = std::max(most, rate);
      one_packet = std::max(one_packet, payload_ / span);
    }
    if (most - least > options_.tolerance * RateOf(member) + one_packet) return false;
  }
  return true;
}

double RateHistory::RateOf(size_t member) const {
  uint64_t bytes = 0;
  int64_t span = 0;
  for (const Sample& sample : samples_) {
    bytes += sample.bytes[member];
    span += sample.span;
  }
  return static_cast<double>(bytes) / static_cast<double>(span);
}

PartitionTable::PartitionTable(const PacketWorkload& workload, const SteadyStateOptions& options, uint32_t payload)
    : options_(options),
      payload_(payload),
      of_connection_(workload.connections.size(), kNone),
      place_of_(workload.connections.size()),
      of_link_(workload.links.size(), kNone) {
  for (const Connection& connection : workload.connections) {
    std::vector<uint32_t>& links = links_of_.emplace_back();
    for (const auto& path : connection.paths) links.insert(links.end(), path.begin(), path.end());
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
  }
}

void PartitionTable::Move(uint32_t connection, uint32_t partition) {
  std::vector<uint32_t>& members = partitions_.at(partition).members;
  of_connection_[connection] = partition;
  place_of_[connection] = members.size();
  members.push_back(connection);
  for (const uint32_t link : links_of_[connection]) of_link_[link] = partition;
}

void PartitionTable::Join(uint32_t connection, int64_t now) {
  FL_CHECK_MSG(of_connection_[connection] == kNone, "a connection joins once");
  std::vector<uint32_t> met;
  for (const uint32_t link : links_of_[connection]) {
    const uint32_t partition = of_link_[link];
    if (partition != kNone && std::ranges::find(met, partition) == met.end()) met.push_back(partition);
  }
  // The largest one takes the others in.
  std::ranges::sort(
      met, [&](uint32_t a, uint32_t b) { return partitions_.at(a).members.size() > partitions_.at(b).members.size(); });
  if (met.empty()) {
    met.push_back(next_partition_++);
    partitions_.insert({met.front(), Partition{.members = {}, .history = RateHistory(options_, payload_)}});
  }
  for (size_t i = 1; i < met.size(); ++i) {
    for (const uint32_t member : std::exchange(partitions_.at(met[i]).members, {})) Move(member, met.front());
    partitions_.erase(met[i]);
  }
  Move(connection, met.front());
  Partition& joined = partitions_.at(met.front());
  joined.history.Restart(joined.members.size(), now);
}

void PartitionTable::Leave(uint32_t connection, int64_t now) {
  const uint32_t left = of_connection_[connection];
  FL_CHECK_MSG(left != kNone, "only who is there leaves");
  const std::vector<uint32_t> members = std::exchange(partitions_.at(left).members, {});
  partitions_.erase(left);
  for (const uint32_t member : members) {
    of_connection_[member] = kNone;
    for (const uint32_t link : links_of_[member]) of_link_[link] = kNone;
  }
  for (const uint32_t member : members) {
    if (member != connection) Join(member, now);
  }
}

}  // namespace fairlead::packet
