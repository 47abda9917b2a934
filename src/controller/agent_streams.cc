#include "controller/agent_streams.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead::controller {
namespace {

constexpr size_t kShownTextMax = 80;

// What an agent says of itself, fit for terminals and pages.
std::string ShownText(std::string_view text) {
  std::string shown(text.substr(0, kShownTextMax));
  for (char& c : shown) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return shown;
}

}  // namespace

AgentStreams::AgentStreams(const topology::Fabric& fabric, const topology::AddressBook& addresses, Welcome welcome,
                           TrafficOutputs* outputs)
    : fabric_(fabric),
      addresses_(addresses),
      welcome_(std::move(welcome)),
      outputs_(outputs),
      agents_(fabric.num_hosts()) {}

AgentStreams::Sender AgentStreams::FindSender(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? Sender() : found->second;
}

std::string AgentStreams::FindFault(const HostHello& hello) const {
  if (hello.protocol_version != kProtocolVersion) {
    return fmt::format(
        "agent {} speaks protocol {}, this controller ({}) speaks {}: install the same version of Fairlead on both",
        ShownText(hello.agent_version), hello.protocol_version, welcome_.controller_version, kProtocolVersion);
  }
  const HostId host = fabric_.FindHost(hello.host);
  if (!host.valid()) {
    return fmt::format("host '{}': the fabric has no such host; name it as the fabric does, or add it there",
                       ShownText(hello.host));
  }
  for (const IpAddress& address : hello.nics) {
    const std::optional<NicId> nic = addresses_.FindNic(address);
    if (!nic) {
      return fmt::format("address {} of host {}: no NIC of the address book has it", address.ToString(), hello.host);
    }
    if (fabric_.host_of(*nic) != host) {
      return fmt::format("address {} of host {}: it belongs to {}", address.ToString(), hello.host,
                         fabric_.NodeName(fabric_.node_of(*nic)));
    }
  }
  return "";
}

void AgentStreams::Bind(StreamId stream, HostId host, const HostHello& hello, SimTime clock) {
  Agent& agent = agents_[host];
  if (agent.stream) Close(*agent.stream);
  streams_[stream].host = host;
  agent.stream = stream;
  agent.version = ShownText(hello.agent_version);
  agent.can_test = hello.can_test;
  agent.last_message = clock;
  agent.slurm_jobs.reset();
  Say(stream, welcome_);
}

void AgentStreams::Hear(HostId host, const Heartbeat& heartbeat) {
  agents_[host].slurm_jobs.reset();
  if (heartbeat.sees_slurm) agents_[host].slurm_jobs = heartbeat.slurm_jobs;
}

void AgentStreams::Refuse(StreamId stream, std::string reason) {
  outputs_->Note(Noted::Severity::kWarning, "streams", "refused: " + reason);
  Say(stream, Refused{std::move(reason)});
  Close(stream);
}

void AgentStreams::RefuseSecondHello(HostId host) {
  const StreamId stream = *std::exchange(agents_[host].stream, std::nullopt);
  Refuse(stream, fmt::format("host {}: a second hello on one stream", fabric_.HostName(host)));
}

std::optional<HostId> AgentStreams::End(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return std::nullopt;
  const HostId host = found->second.host;
  streams_.erase(found);
  if (!host.valid() || agents_[host].stream != stream) return std::nullopt;
  agents_[host].stream.reset();
  return host;
}

void AgentStreams::Close(StreamId stream) {
  outputs_->Add(EndStream{stream});
  streams_[stream].is_closed = true;
}

void AgentStreams::Say(StreamId stream, ToAgent message) { outputs_->Add(SendToStream{stream, std::move(message)}); }

void AgentStreams::SendTo(HostId host, ToAgent message) {
  if (agents_[host].stream) Say(*agents_[host].stream, std::move(message));
}

void AgentStreams::Answer(StreamId stream, ToAgent message) {
  if (!FindSender(stream).is_closed) Say(stream, std::move(message));
}

void AgentStreams::Judge(HostId host, const HostJudged& judged) {
  agents_[host].judged = judged;
  SendTo(host, judged);
}

}  // namespace fairlead::controller
