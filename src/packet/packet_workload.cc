#include "packet/packet_workload.h"

#include <fmt/format.h>

#include <cmath>

namespace fairlead::packet {

namespace {

Status CheckConnection(const PacketWorkload& workload, size_t index) {
  const Connection& connection = workload.connections[index];
  const auto error = [&](const std::string& what) {
    return InvalidArgument(fmt::format("connection {}: {}", index, what));
  };
  if (connection.paths.empty()) return error("it has no path");
  if (connection.level >= kNumLevels) {
    return error(fmt::format("level {}; expected 0 to {}", connection.level, kNumLevels - 1));
  }
  for (const std::vector<uint32_t>& path : connection.paths) {
    if (path.empty()) return error("a path without links");
    for (const uint32_t link : path) {
      if (link >= workload.links.size()) return error(fmt::format("link {} does not exist", link));
    }
    if (path.front() != connection.paths.front().front() || path.back() != connection.paths.front().back()) {
      return error("its paths begin or end at different links");
    }
  }
  return OkStatus();
}

// Messages that can be sent one after another, by peeling off those that wait for none that is left.
size_t CountReachable(const std::vector<Message>& messages) {
  std::vector<size_t> waits(messages.size());
  std::vector<std::vector<uint32_t>> followers(messages.size());
  std::vector<uint32_t> ready;
  for (uint32_t m = 0; m < messages.size(); ++m) {
    waits[m] = messages[m].after.size();
    for (const uint32_t before : messages[m].after) followers[before].push_back(m);
    if (waits[m] == 0) ready.push_back(m);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (const uint32_t follower : followers[ready[i]]) {
      if (--waits[follower] == 0) ready.push_back(follower);
    }
  }
  return ready.size();
}

}  // namespace

Status PacketWorkload::Validate() const {
  for (size_t l = 0; l < links.size(); ++l) {
    const bool has_speed = std::isfinite(links[l].bytes_per_s) && links[l].bytes_per_s > 0;
    if (!has_speed || !std::isfinite(links[l].delay_s) || links[l].delay_s < 0) {
      return InvalidArgument(
          fmt::format("link {}: {} bytes/s and {} s; expected a speed above 0 and a delay of at least 0", l,
                      links[l].bytes_per_s, links[l].delay_s));
    }
  }
  for (size_t c = 0; c < connections.size(); ++c) FL_RETURN_IF_ERROR(CheckConnection(*this, c));
  for (size_t m = 0; m < messages.size(); ++m) {
    const Message& message = messages[m];
    const auto error = [&](const std::string& what) { return InvalidArgument(fmt::format("message {}: {}", m, what)); };
    if (message.connection >= connections.size()) {
      return error(fmt::format("connection {} does not exist", message.connection));
    }
    if (message.bytes == 0) return error("it is empty");
    if (!std::isfinite(message.delay_s) || message.delay_s < 0) return error("a delay below 0");
    for (const uint32_t before : message.after) {
      if (before >= messages.size()) return error(fmt::format("it waits for message {}, which does not exist", before));
    }
  }
  if (CountReachable(messages) < messages.size()) return InvalidArgument("messages wait for each other in a circle");
  return OkStatus();
}

}  // namespace fairlead::packet
