#include "agent/socket_classes.h"

namespace fairlead::agent {

namespace {

constexpr uint32_t kNumLevels = 8;

}  // namespace

bool SocketClasses::SetLevel(const std::string& job, uint32_t level) {
  const auto numbers = connections_.jobs().find(job);
  const bool is_known = levels_.contains(job) || numbers != connections_.jobs().end();
  if (level >= kNumLevels || (!is_known && levels_.size() >= kNumLevelsMax)) return false;
  const auto [entry, is_new] = levels_.try_emplace(job, level);
  if (!is_new && entry->second == level) return false;
  entry->second = level;
  outbox_.Change();
  if (numbers != connections_.jobs().end()) {
    for (const uint64_t number : numbers->second) Classify(connections_.at(number));
  }
  return true;
}

std::optional<uint8_t> SocketClasses::Assign(const Connection& connection) {
  const auto traffic_class = ClassOf(levels_, connection.kept.job);
  Inherit(connection.number(), traffic_class);
  return traffic_class;
}

void SocketClasses::Inherit(uint64_t connection, std::optional<uint8_t> traffic_class) {
  if (traffic_class.has_value()) {
    classes_[connection] = *traffic_class;
  } else {
    classes_.erase(connection);
  }
}

void SocketClasses::Classify(const Connection& connection) {
  const KeptConnection& kept = connection.kept;
  const auto traffic_class = ClassOf(levels_, kept.job);
  if (!connection.has_open_socket() || !traffic_class.has_value()) return;
  const auto [told, is_first] = classes_.try_emplace(connection.number(), *traffic_class);
  if (!is_first && told->second == *traffic_class) return;
  told->second = *traffic_class;
  outbox_.Act(SetSocketClass{.pid = kept.wanted.pid,
                             .inode = kept.inode,
                             .is_ipv6 = !kept.wanted.source.is_ipv4(),
                             .traffic_class = *traffic_class});
}

}  // namespace fairlead::agent
