#include "lab/trainer/message_transport.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace fairlead::lab {

namespace {

constexpr double kPollFirst = 1e-3;
constexpr double kPollLast = 4e-3;

}  // namespace

MessageTransport::MessageTransport(const TrainerPlan& plan, const Connections& connections,
                                   CollectiveObserver* observer)
    : plan_(plan),
      connections_(connections),
      readers_(connections.size()),
      writers_(connections.size()),
      is_full_(connections.size(), false),
      taken_(connections.size(), 0),
      acknowledged_(connections.size(), 0),
      flow_(plan, observer,
            [this](uint32_t connection, uint64_t messages) { return ClearToSend(connection, messages); }) {}

bool MessageTransport::Poll(IterationState* state) {
  ReadAcknowledgements();
  ReadClearances();
  const bool has_moved = flow_.Poll(acknowledged_, state);
  num_quiet_polls_ = has_moved ? 0 : num_quiet_polls_ + 1;
  return has_moved;
}

std::optional<double> MessageTransport::poll_after_s() const {
  if (!flow_.AwaitsAcknowledgement()) return std::nullopt;
  // A connection wants to send and may not yet.
  if (flow_.HasQueue()) return kPollFirst;
  return std::min(kPollLast, kPollFirst * static_cast<double>(1u << std::min(num_quiet_polls_, 4u)));
}

// The kernel forgets it again and again.
void MessageTransport::OnRead(uint32_t connection) const {
  const int on = 1;
  setsockopt(connections_[connection].get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

void MessageTransport::ReadAcknowledgements() {
  for (uint32_t c = 0; c < connections_.size(); ++c) {
    if (!plan_.connections[c].is_outgoing || taken_[c] == acknowledged_[c]) continue;
    int waiting = 0;
    if (ioctl(connections_[c].get(), SIOCOUTQ, &waiting) != 0) continue;
    // Headers of chunks count among those that wait: then, for a moment, less is reported than was acknowledged.
    const uint64_t unacknowledged = std::min(taken_[c], static_cast<uint64_t>(std::max(waiting, 0)));
    acknowledged_[c] = std::max(acknowledged_[c], taken_[c] - unacknowledged);
  }
}

void MessageTransport::ReadClearances() {
  for (uint32_t c = 0; c < connections_.size() && !loss_; ++c) {
    if (!plan_.connections[c].is_outgoing || !flow_.AwaitsClearToSend(c)) continue;
    const auto messages = readers_[c].Read(connections_[c].get());
    if (!messages.ok()) {
      loss_ = {c, messages.status().message()};
    } else if (*messages) {
      flow_.OnClearToSend(c, **messages);
    }
  }
}

bool MessageTransport::ClearToSend(uint32_t connection, uint64_t messages) {
  const auto written = writers_[connection].Write(connections_[connection].get(), messages);
  if (!written.ok() && !loss_) loss_ = {connection, written.status().message()};
  is_full_[connection] = written.ok() && !*written;
  return written.ok() && *written;
}

}  // namespace fairlead::lab
