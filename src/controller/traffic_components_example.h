// What tests of the traffic controller's components stand on: a small fabric, outputs, agents, and a path service that
// answers what it is told to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "controller/agent_streams.h"
#include "controller/job_table.h"
#include "controller/path_batch.h"
#include "controller/traffic_controller_example.h"
#include "controller/traffic_outputs.h"
#include "traffic/path_service.h"

namespace fairlead::controller {

// Answers and paths are set by hand.
class FakePaths final : public traffic::PathService {
 public:
  struct Held {
    traffic::LeaseId lease;
    traffic::ConnectionRequest request;
    std::vector<LinkId> links;
  };
  std::map<std::pair<JobId, uint64_t>, traffic::ConnectionAnswer> answers;
  std::vector<Held> held;  // one queue pair each

  std::vector<traffic::PathAction> Handle(SimTime, std::span<const traffic::PathEvent>) override { return {}; }
  std::optional<traffic::ConnectionAnswer> Find(JobId job, uint64_t connection) const override {
    const auto found = answers.find({job, connection});
    return found == answers.end() ? std::nullopt : std::optional(found->second);
  }
  void VisitQueuePairs(const std::function<void(const traffic::HeldQueuePair&)>& visit) const override {
    for (const Held& one : held) {
      visit({.lease = one.lease, .request = &one.request, .queue_pair = 0, .answer = {}, .links = one.links});
    }
  }
  traffic::LinkState state(LinkId) const override { return traffic::LinkState::kUp; }
  double health(LinkId) const override { return 1; }
};

struct ComponentExample {
  topology::Fabric fabric = LiveFabric();
  topology::AddressBook addresses = LiveAddresses(fabric);
  TrafficOutputs outputs{fabric};
  AgentStreams streams{
      fabric, addresses, {.controller_version = "1.2", .heartbeat_period = {}, .lease_ttl = {}}, &outputs};
  JobTable jobs{fabric.num_hosts(), 8, /*sets_levels=*/true, &outputs};
  PathBatch batch{fabric.num_hosts()};
  FakePaths paths;

  HostHello Hello(uint32_t host) const {
    return {.host = fabric.HostName(HostId(host)), .agent_version = "test", .nics = {NicAddress(host)}};
  }
  // By the stream of the same number.
  void Connect(uint32_t host) {
    streams.Bind(StreamId(host), HostId(host), Hello(host), SimTime());
    outputs.Take();
  }
  // A connection of one queue pair. Host, NIC and GPU have the same number.
  static traffic::ConnectionRequest Request(uint64_t connection, uint32_t from, uint32_t to, uint8_t protocol = 6) {
    return {.connection = connection,
            .source = NicId(from),
            .destination = NicId(to),
            .protocol = protocol,
            .destination_port = 5000};
  }
  JobId AddJob(const std::string& name, const traffic::ConnectionRequest& request) {
    const JobId job = *jobs.Intern(name);
    jobs.AddConnection(job, fabric.host_of(request.source), request);
    outputs.Take();
    return job;
  }
};

// Messages of this kind, to whatever stream.
template <class T>
std::vector<T> MessagesIn(const std::vector<TrafficOutput>& outputs) {
  std::vector<T> found;
  for (const TrafficOutput& output : outputs) {
    const auto* sent = std::get_if<SendToStream>(&output);
    if (sent == nullptr) continue;
    if (const auto* message = std::get_if<T>(&sent->message)) found.push_back(*message);
  }
  return found;
}

template <class T>
std::vector<T> OutputsIn(const std::vector<TrafficOutput>& outputs) {
  std::vector<T> found;
  for (const TrafficOutput& output : outputs) {
    if (const auto* one = std::get_if<T>(&output)) found.push_back(*one);
  }
  return found;
}

}  // namespace fairlead::controller
