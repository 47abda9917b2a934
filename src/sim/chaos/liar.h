// What an agent says that somebody has taken over: it has the certificate of its host, and says anything.
//
// It knows more than it could: names of all jobs, numbers of all connections. Not the ids of communicators that none of
// its processes is in, which only their members know.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/random.h"
#include "controller/host_messages.h"
#include "controller/traffic_controller.h"
#include "sim/chaos/virtual_jobs.h"
#include "sim/hosts/virtual_network.h"

namespace fairlead::sim::chaos {

class Liar {
 public:
  struct Surroundings {
    const hosts::VirtualNetwork* network = nullptr;
    const VirtualJobs* jobs = nullptr;
    std::function<SimTime()> now;
    // Those of the controller; none while it is away.
    std::function<std::vector<controller::QueuePairOnFabric>()> connections;
  };

  Liar(uint64_t seed, Surroundings surroundings) : random_(seed), surroundings_(std::move(surroundings)) {}

  // One lie by the agent of this host; within the limits of messages, which everybody checks at the door.
  controller::FromAgent Lie(uint32_t host);
  // What an unprivileged process on a host can put into the agent's folder: telemetry of a job of its own that looks
  // like that of others.
  telemetry::SeenProcess Impostor();

 private:
  controller::ProcessesSeen AboutProcesses(uint32_t host);
  telemetry::SeenProcess Process(const VirtualJobs::State& job, bool knows_communicator);
  controller::WantedConnection Wanted(uint32_t host);
  controller::ProbesFinished AboutLinks(uint32_t host);
  controller::JobMeasured AboutSpeed();
  std::string AnyJob();
  uint64_t AnyConnection();
  IpAddress AnyAddress();
  IpAddress OwnAddress(uint32_t host) const;

  Random random_;
  Surroundings surroundings_;
  uint64_t num_looks_ = 1 << 20;
};

}  // namespace fairlead::sim::chaos
