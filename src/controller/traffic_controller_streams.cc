// Of the traffic controller: senders and recipients of messages on streams.
#include <fmt/format.h>

#include "controller/traffic_controller.h"

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

std::string TrafficController::FindFault(const HostHello& hello) const {
  if (hello.protocol_version != kProtocolVersion) {
    return fmt::format(
        "agent {} speaks protocol {}, this controller ({}) speaks {}: install the same version of Fairlead on both",
        ShownText(hello.agent_version), hello.protocol_version, options_.version, kProtocolVersion);
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

void TrafficController::Welcome(StreamId stream, const HostHello& hello) {
  if (std::string fault = FindFault(hello); !fault.empty()) return Refuse(stream, std::move(fault));
  if (!events_.empty()) Flush();
  const HostId id = fabric_.FindHost(hello.host);
  Host& host = hosts_[id];
  if (host.stream) {
    outputs_.emplace_back(EndStream{*host.stream});
    streams_[*host.stream].is_closed = true;
    LoseArrivals(id);
  }
  streams_[stream].host = id;
  host.stream = stream;
  host.agent_version = ShownText(hello.agent_version);
  host.last_message = clock_;
  Say(stream, controller::Welcome{.controller_version = options_.version,
                                  .heartbeat_period = options_.heartbeat_period,
                                  .lease_ttl = options_.lease_ttl});
  AskForAnnouncement(id);
  for (const JobId job_id : host.jobs) {
    const Job& job = jobs_.at(job_id);
    Say(stream, LevelSet{.job = job.name, .level = job.level, .reason = job.reason});
  }
  // Also where nothing is: an earlier controller may have found something.
  Say(stream, host.judged);
  RenewArrivals(id);
  Note(Noted::Severity::kInfo, HostSubject(id), "its agent is here, version " + host.agent_version);
}

void TrafficController::Take(const JudgementChanged& input) {
  hosts_[input.host].judged = input.judged;
  SendTo(input.host, input.judged);
}

void TrafficController::AskForAnnouncement(HostId host) {
  hosts_[host].is_announcing = true;
  hosts_[host].announced.clear();
  SendTo(host, AnnouncementWanted{});
}

void TrafficController::Refuse(StreamId stream, std::string reason) {
  Note(Noted::Severity::kWarning, "streams", "refused: " + reason);
  Say(stream, Refused{std::move(reason)});
  outputs_.emplace_back(EndStream{stream});
  streams_[stream].is_closed = true;
}

void TrafficController::Say(StreamId stream, ToAgent message) {
  outputs_.emplace_back(SendToStream{stream, std::move(message)});
}

void TrafficController::SendTo(HostId host, ToAgent message) {
  if (hosts_[host].stream) Say(*hosts_[host].stream, std::move(message));
}

// A second one on the same stream: the identity of the other end is in doubt.
void TrafficController::Hear(HostId host, const HostHello&) {
  const StreamId stream = *hosts_[host].stream;
  hosts_[host].stream.reset();
  LoseArrivals(host);
  Refuse(stream, fmt::format("host {}: a second hello on one stream", fabric_.HostName(host)));
}

void TrafficController::Hear(HostId host, const Heartbeat& message) {
  PassOn(host, traffic::LeasesRenewed{.host = host, .num_leases = message.num_leases, .jobs = std::nullopt});
}

}  // namespace fairlead::controller
