#include "sim/chaos/liar.h"

#include <algorithm>
#include <utility>

namespace fairlead::sim::chaos {

using controller::FromAgent;

namespace {

constexpr SimDuration kFarAway(7'200'000'000'000);

}  // namespace

FromAgent Liar::Lie(uint32_t host) {
  switch (random_.Below(12)) {
    case 0:
    case 1:
    case 2:
      return AboutProcesses(host);
    case 3: {
      controller::ConnectionsClosed closed{.job = AnyJob(), .connections = {}};
      if (random_.Below(2) == 0) closed.connections = {AnyConnection()};
      return closed;
    }
    case 4: {
      controller::ConnectionsHeld held{.job = AnyJob(), .connections = {}};
      held.connections.push_back({.wanted = Wanted(host),
                                  .queue_pairs = {traffic::HeldPath{}},
                                  .socket_ports = {static_cast<uint16_t>(random_.Below(65'536))}});
      return held;
    }
    case 5:
      return AboutLinks(host);
    case 6:
      return AboutSpeed();
    case 7:
      return controller::ArrivalPrepared{.alias = random_.Below(64), .error = random_.Below(2) == 0 ? "" : "no"};
    case 8:
      return controller::MoveRefused{.job = AnyJob(),
                                     .connection = AnyConnection(),
                                     .queue_pair = 0,
                                     .port = static_cast<uint16_t>(random_.Below(65'536)),
                                     .wire_port = static_cast<uint16_t>(random_.Below(65'536)),
                                     .reason = "no"};
    case 9: {
      controller::PathsWanted wanted{.request = random_(), .job = AnyJob(), .connections = {}};
      for (uint64_t n = random_.Below(40); n > 0; --n) wanted.connections.push_back(Wanted(host));
      return wanted;
    }
    case 10:
      return controller::ConnectionOpened{.job = AnyJob(),
                                          .connection = AnyConnection(),
                                          .queue_pair = static_cast<uint32_t>(random_.Below(2)),
                                          .socket_port = static_cast<uint16_t>(random_.Below(65'536))};
    default:
      if (random_.Below(2) == 0) return controller::Heartbeat{.num_leases = static_cast<uint32_t>(random_.Below(5))};
      return controller::AnnouncementFinished{};
  }
}

controller::ProcessesSeen Liar::AboutProcesses(uint32_t host) {
  const std::vector<VirtualJobs::State> jobs = surroundings_.jobs->States();
  controller::ProcessesSeen seen;
  seen.number = ++num_looks_;
  seen.at = surroundings_.now();
  if (random_.Below(4) == 0) seen.at = seen.at + (random_.Below(2) == 0 ? kFarAway : SimDuration(-kFarAway.ns()));
  if (jobs.empty()) {
    seen.job = "nobody";
    return seen;
  }
  const VirtualJobs::State& job = jobs[random_.Below(jobs.size())];
  seen.job = std::string(job.name);
  const bool is_member = std::ranges::count(job.hosts, host) > 0;
  for (uint64_t n = 1 + random_.Below(3); n > 0; --n) {
    seen.processes.push_back(Process(job, is_member && random_.Below(2) == 0));
    telemetry::SeenProcess& process = seen.processes.back();
    process.report.at = seen.at;
    if (random_.Below(2) != 0) continue;
    process.state = model::ProcessState::kGone;
    process.exit = {.code = random_.Below(2) == 0 ? -9 : 1,
                    .end = model::ProcessEnd::kBroken,
                    .at = seen.at - SimDuration(static_cast<int64_t>(random_.Below(100'000'000'000))),
                    .within = {}};
  }
  if (random_.Below(3) == 0) {
    seen.symptoms.push_back({.symptom = model::HostSymptom::kGpuLost, .device = 0, .text = "fallen off the bus"});
  }
  return seen;
}

telemetry::SeenProcess Liar::Process(const VirtualJobs::State& job, bool knows_communicator) {
  telemetry::SeenProcess process;
  telemetry::ProcessReport& report = process.report;
  const auto num_ranks = static_cast<uint32_t>(std::max<size_t>(job.hosts.size(), 2));
  const auto rank = static_cast<int32_t>(random_.Below(num_ranks + 2));
  report.job = std::string(job.name);
  report.pid = static_cast<int32_t>(1 + random_.Below(200));
  report.process_start = random_.Below(2) == 0 ? static_cast<uint64_t>(job.started_at.ns()) : random_();
  report.global_rank = rank;
  report.number = num_looks_;
  report.communicators = {{.id = knows_communicator ? job.communicator : random_(),
                           .name = "",
                           .num_ranks = num_ranks,
                           .rank = std::min<int32_t>(rank, static_cast<int32_t>(num_ranks) - 1),
                           .is_finalized = random_.Below(8) == 0}};
  const uint64_t begun = random_.Below(100);
  report.progress = {{.communicator = model::CommunicatorId(0),
                      .kind = model::OperationKind::kUnknown,
                      .peer = {},
                      .enqueued = begun + 1,
                      .started = begun + random_.Below(2),
                      .finished = begun}};
  return process;
}

telemetry::SeenProcess Liar::Impostor() {
  const std::vector<VirtualJobs::State> jobs = surroundings_.jobs->States();
  telemetry::SeenProcess process;
  if (!jobs.empty()) process = Process(jobs[random_.Below(jobs.size())], /*knows_communicator=*/true);
  process.report.at = surroundings_.now();
  if (random_.Below(3) == 0) {
    process.state = model::ProcessState::kGone;
    process.exit.end = model::ProcessEnd::kBroken;
  }
  return process;
}

controller::WantedConnection Liar::Wanted(uint32_t host) {
  return {.connection = AnyConnection(),
          .source = random_.Below(2) == 0 ? OwnAddress(host) : AnyAddress(),
          .destination = AnyAddress(),
          .num_queue_pairs = 1,
          .weight = random_.Below(2) == 0 ? 1 : 1e30,
          .protocol = 6,
          .destination_port = static_cast<uint16_t>(random_.Below(65'536))};
}

// Everything that this host sends is lost, as it says.
controller::ProbesFinished Liar::AboutLinks(uint32_t host) {
  controller::ProbesFinished finished{.round = random_.Below(200), .scans = {}};
  for (uint64_t n = 1 + random_.Below(4); n > 0; --n) {
    controller::PortScanSeen scan{.source = random_.Below(4) == 0 ? AnyAddress() : OwnAddress(host),
                                  .destination = AnyAddress(),
                                  .plane = 0,
                                  .protocol = 6,
                                  .destination_port = 4791,
                                  .epoch = random_.Below(4) << 32,
                                  .routes = {}};
    controller::ProbedRoute& route = scan.routes.emplace_back();
    route.sent = 10;
    route.lost = random_.Below(2) == 0 ? 10 : 0;
    for (uint64_t p = 0; p < 16; ++p)
      route.source_ports.push_back(static_cast<uint16_t>(49'152 + random_.Below(16'384)));
    finished.scans.push_back(std::move(scan));
  }
  return finished;
}

controller::JobMeasured Liar::AboutSpeed() {
  controller::JobMeasured measured{
      .job = AnyJob(), .num_gpus = static_cast<uint32_t>(random_()), .profile = {}, .connections = {}};
  measured.profile.iteration_time = Seconds(random_.Below(2) == 0 ? 1e-9 : 1e9);
  measured.profile.compute_time = measured.profile.iteration_time;
  measured.profile.work = Flop(1e30);
  measured.profile.is_period_known = true;
  measured.connections = {AnyConnection()};
  measured.profile.flow_bytes = {Bytes(1e30)};
  return measured;
}

std::string Liar::AnyJob() {
  const std::vector<VirtualJobs::State> jobs = surroundings_.jobs->States();
  return jobs.empty() ? "nobody" : std::string(jobs[random_.Below(jobs.size())].name);
}

uint64_t Liar::AnyConnection() {
  const std::vector<controller::QueuePairOnFabric> pairs = surroundings_.connections();
  return pairs.empty() || random_.Below(4) == 0 ? random_() : pairs[random_.Below(pairs.size())].connection;
}

IpAddress Liar::OwnAddress(uint32_t host) const {
  return surroundings_.network->AddressOf(surroundings_.network->NicsOf(HostId(host)).front());
}

IpAddress Liar::AnyAddress() {
  return OwnAddress(static_cast<uint32_t>(random_.Below(surroundings_.network->fabric().num_hosts())));
}

}  // namespace fairlead::sim::chaos
