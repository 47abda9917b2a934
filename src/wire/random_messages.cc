#include "wire/random_messages.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fairlead::wire {
namespace {

using namespace controller;  // NOLINT(google-build-using-namespace): the messages, which are on every line

// Small numbers and the largest ones are where mistakes are.
template <class Integer>
Integer AnyInteger(Random* random) {
  switch (random->Below(4)) {
    case 0:
      return static_cast<Integer>(random->Below(3));
    case 1:
      return static_cast<Integer>(std::numeric_limits<Integer>::max() - random->Below(2));
    default:
      return static_cast<Integer>((*random)());
  }
}

IpAddress AnyAddress(Random* random) {
  if (random->Below(2) == 0) return IpAddress::FromIpv4(AnyInteger<uint32_t>(random));
  std::array<uint8_t, 16> bytes;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((*random)());
  return IpAddress(bytes);
}

std::string AnyText(Random* random, size_t length_min) {
  static const std::array<std::string, 6> kPieces = {"a", "job-", "/0", "é", "训练", " "};
  std::string text;
  while (text.size() < length_min || random->Below(3) != 0) text += kPieces[random->Below(kPieces.size())];
  return text;
}

std::string AnyName(Random* random) { return AnyText(random, 1); }
std::string AnyJobName(Random* random) {
  static constexpr std::string_view kCharacters = "azAZ09._-";
  std::string name(1 + random->Below(128), 'a');
  for (char& c : name) c = kCharacters[random->Below(kCharacters.size())];
  return name;
}

double AnyAmount(Random* random) { return random->Below(4) == 0 ? 0 : random->Exponential(1e9); }
double AnyPositive(Random* random) { return std::numeric_limits<double>::min() + random->Exponential(1); }

template <class Make>
auto AnyList(Random* random, Make make) {
  std::vector<decltype(make())> list(random->Below(5));
  for (auto& item : list) item = make();
  return list;
}

template <class Integer>
std::vector<Integer> AnyIntegers(Random* random) {
  return AnyList(random, [&] { return AnyInteger<Integer>(random); });
}

WantedConnection AnyWanted(Random* random) {
  return {.connection = AnyInteger<uint64_t>(random),
          .source = AnyAddress(random),
          .destination = AnyAddress(random),
          .num_queue_pairs = AnyInteger<uint32_t>(random),
          .weight = AnyPositive(random),
          .protocol = AnyInteger<uint8_t>(random),
          .destination_port = AnyInteger<uint16_t>(random)};
}

HeldConnection AnyHeld(Random* random) {
  HeldConnection held = {.wanted = AnyWanted(random), .queue_pairs = {}, .socket_ports = AnyIntegers<uint16_t>(random)};
  for (size_t i = 0; i < held.socket_ports.size(); ++i) {
    held.queue_pairs.push_back({.is_managed = random->Below(2) == 0,
                                .plane = AnyInteger<uint32_t>(random),
                                .path = AnyInteger<uint32_t>(random),
                                .port = AnyInteger<uint16_t>(random)});
  }
  return held;
}

ProbedRoute AnyProbedRoute(Random* random) {
  const uint64_t sent = AnyInteger<uint64_t>(random) / 2;
  return {.hops = AnyList(random, [&] { return random->Below(3) == 0 ? IpAddress() : AnyAddress(random); }),
          .sent = sent,
          .lost = random->Below(sent + 1),
          .rtt = Seconds(AnyAmount(random)),
          .source_ports = AnyIntegers<uint16_t>(random)};
}

PortScanSeen AnyScanSeen(Random* random) {
  return {.source = AnyAddress(random),
          .destination = AnyAddress(random),
          .plane = AnyInteger<uint32_t>(random),
          .protocol = AnyInteger<uint8_t>(random),
          .destination_port = AnyInteger<uint16_t>(random),
          .epoch = AnyInteger<uint64_t>(random),
          .routes = AnyList(random, [&] { return AnyProbedRoute(random); })};
}

JobMeasured AnyMeasured(Random* random) {
  JobMeasured measured = {.job = AnyJobName(random),
                          .num_gpus = AnyInteger<uint32_t>(random),
                          .profile = {.iteration_time = Seconds(AnyPositive(random)),
                                      .compute_time = Seconds(AnyAmount(random)),
                                      .start_fraction = random->Uniform(),
                                      .work = Flop(AnyAmount(random)),
                                      .flow_bytes = {},
                                      .is_period_known = random->Below(2) == 0},
                          .connections = AnyIntegers<uint64_t>(random)};
  for (size_t i = 0; i < measured.connections.size(); ++i) {
    measured.profile.flow_bytes.emplace_back(AnyAmount(random));
  }
  return measured;
}

traffic::QueuePairAnswer AnyAnswer(Random* random) {
  return {.kind = static_cast<traffic::QueuePairAnswer::Kind>(random->Below(4)),
          .plane = AnyInteger<uint32_t>(random),
          .path = AnyInteger<uint32_t>(random),
          .port = AnyInteger<uint16_t>(random),
          .epoch = AnyInteger<uint64_t>(random)};
}

traffic::ConnectionAnswer AnyConnectionAnswer(Random* random) {
  return {.connection = AnyInteger<uint64_t>(random), .reason = AnyText(random, 0), .queue_pairs = AnyList(random, [&] {
                                                                                      return AnyAnswer(random);
                                                                                    })};
}

QueuePairChanged AnyChange(Random* random) {
  return {.job = AnyJobName(random),
          .connection = AnyInteger<uint64_t>(random),
          .queue_pair = AnyInteger<uint32_t>(random),
          .answer = AnyAnswer(random),
          .cause = static_cast<traffic::MoveCause>(random->Below(traffic::kNumMoveCauses)),
          .is_prepared = random->Below(2) == 0};
}

PortScanWanted AnyScan(Random* random) {
  return {.source = AnyAddress(random),
          .destination = AnyAddress(random),
          .plane = AnyInteger<uint32_t>(random),
          .protocol = AnyInteger<uint8_t>(random),
          .destination_port = AnyInteger<uint16_t>(random),
          .epoch = AnyInteger<uint64_t>(random),
          .source_ports = AnyIntegers<uint16_t>(random)};
}

// Of the bounds of telemetry/process_report.h.
SimTime AnyInstant(Random* random) {
  constexpr int64_t kEarliest = -(int64_t{1} << 61);
  constexpr uint64_t kRange = (uint64_t{1} << 62) + (uint64_t{1} << 61);
  return SimTime(kEarliest +
                 static_cast<int64_t>(random->Below(4) == 0 ? kRange * random->Below(2) : random->Below(kRange)));
}
SimDuration AnySum(Random* random) { return SimDuration(static_cast<int64_t>(random->Below((uint64_t{1} << 61) + 1))); }
uint64_t AnyCount(Random* random) { return AnyInteger<uint64_t>(random) >> 2; }
model::RankId AnyPeer(Random* random) { return model::RankId(static_cast<uint32_t>(random->Below(1 << 20))); }
model::RankId AnyPeerOrNone(Random* random) { return random->Below(2) == 0 ? model::RankId() : AnyPeer(random); }
std::string AnyAscii(Random* random) { return random->Below(3) == 0 ? "" : std::string(random->Below(65), '~'); }

template <class Enum>
Enum AnyOf(Random* random, Enum last) {
  return static_cast<Enum>(random->Below(static_cast<uint64_t>(last) + 1));
}

model::OperationRecord AnyOperation(Random* random, model::CommunicatorId communicator) {
  model::OperationRecord operation = {.communicator = communicator,
                                      .kind = AnyOf(random, model::OperationKind::kUnknown),
                                      .sequence = AnyInteger<uint64_t>(random),
                                      .issue_index = AnyInteger<uint64_t>(random),
                                      .bytes = AnyCount(random),
                                      .data_type = AnyAscii(random),
                                      .root = AnyInteger<int32_t>(random),
                                      .peer = AnyPeerOrNone(random),
                                      .enqueued = AnyInstant(random),
                                      .started = {},
                                      .finished = {}};
  if (random->Below(2) == 0) operation.started = AnyInstant(random);
  if (random->Below(2) == 0) operation.finished = AnyInstant(random);
  return operation;
}

model::ConnectionRecord AnyConnection(Random* random, model::CommunicatorId communicator) {
  model::ConnectionRecord record = {.key = {.communicator = communicator,
                                            .channel = AnyInteger<uint16_t>(random),
                                            .plane = AnyInteger<uint8_t>(random),
                                            .direction = AnyOf(random, model::Direction::kReceive),
                                            .peer = AnyPeer(random)},
                                    .messages = AnyCount(random),
                                    .bytes = AnyCount(random),
                                    .wire_time = AnySum(random),
                                    .wire_time_max = AnySum(random),
                                    .wait_for_gpu = AnySum(random),
                                    .wait_for_peer = AnySum(random),
                                    .in_flight = AnyInteger<uint32_t>(random),
                                    .phase = AnyOf(random, model::TransferPhase::kReceiveWaitsForGpu),
                                    .phase_since = AnyInstant(random),
                                    .last_progress = AnyInstant(random)};
  for (size_t bin = 0; bin < random->Below(model::kNumWireTimeBins + 1); ++bin) {
    record.wire_time_bins[bin] = AnyInteger<uint32_t>(random);
  }
  return record;
}

telemetry::SeenProcess AnyProcess(Random* random, const std::string& job) {
  telemetry::SeenProcess process;
  process.state = AnyOf(random, model::ProcessState::kStopped);
  process.exit_code = AnyInteger<int32_t>(random);
  telemetry::ProcessReport& report = process.report;
  report.job = job;
  report.pid = AnyInteger<int32_t>(random);
  report.process_start = AnyInteger<uint64_t>(random);
  report.global_rank = AnyInteger<int32_t>(random);
  report.number = AnyInteger<uint64_t>(random);
  report.at = AnyInstant(random);
  report.communicators = AnyList(random, [&] {
    return telemetry::ProcessCommunicator{.id = AnyInteger<uint64_t>(random),
                                          .name = AnyAscii(random),
                                          .num_ranks = static_cast<uint32_t>(random->Below((1 << 20) + 1)),
                                          .rank = static_cast<int32_t>(random->Below(1 << 20)) - 1,
                                          .is_finalized = random->Below(2) == 0};
  });
  if (random->Below(2) == 0) report.operations_since = AnyInstant(random);
  report.busy_connections = AnyInteger<uint32_t>(random);
  report.is_finalizing = random->Below(2) == 0;
  report.num_dropped = AnyInteger<uint64_t>(random);
  report.num_damaged = AnyInteger<uint32_t>(random);
  if (report.communicators.empty()) return process;
  const auto communicator = [&] { return model::CommunicatorId(random->Below(report.communicators.size())); };
  report.operations = AnyList(random, [&] { return AnyOperation(random, communicator()); });
  report.progress = AnyList(random, [&] {
    return model::ProgressRecord{.communicator = communicator(),
                                 .kind = AnyOf(random, model::OperationKind::kUnknown),
                                 .peer = AnyPeerOrNone(random),
                                 .enqueued = AnyInteger<uint64_t>(random),
                                 .started = AnyInteger<uint64_t>(random),
                                 .finished = AnyInteger<uint64_t>(random)};
  });
  report.connections = AnyList(random, [&] { return AnyConnection(random, communicator()); });
  return process;
}

ProcessesSeen AnySeen(Random* random) {
  ProcessesSeen seen = {
      .job = AnyJobName(random), .number = AnyInteger<uint64_t>(random), .at = AnyInstant(random), .processes = {}};
  seen.processes = AnyList(random, [&] { return AnyProcess(random, seen.job); });
  return seen;
}

HostJudged::Finding AnyFinding(Random* random) {
  return {.job = AnyJobName(random),
          .syndrome = AnyOf(random, model::Syndrome::kMismatch),
          .text = AnyText(random, 0),
          .action = AnyOf(random, model::RecommendedAction::kRepairPath)};
}

SimDuration AnyPeriod(Random* random) {
  return SimDuration(1 + static_cast<int64_t>(random->Below(uint64_t{1} << 62)));
}

}  // namespace

FromAgent RandomFromAgent(Random* random) {
  switch (random->Below(std::variant_size_v<FromAgent>)) {
    case 0:
      return HostHello{.host = AnyName(random), .agent_version = AnyText(random, 0), .nics = AnyList(random, [&] {
                                                                                       return AnyAddress(random);
                                                                                     })};
    case 1:
      return Heartbeat{.num_leases = AnyInteger<uint32_t>(random)};
    case 2:
      return PathsWanted{.request = AnyInteger<uint64_t>(random),
                         .job = AnyJobName(random),
                         .connections = AnyList(random, [&] { return AnyWanted(random); })};
    case 3:
      return ConnectionOpened{.job = AnyJobName(random),
                              .connection = AnyInteger<uint64_t>(random),
                              .queue_pair = AnyInteger<uint32_t>(random),
                              .socket_port = AnyInteger<uint16_t>(random)};
    case 4:
      return ConnectionsClosed{.job = AnyJobName(random), .connections = AnyIntegers<uint64_t>(random)};
    case 5:
      return ConnectionsHeld{.job = AnyJobName(random),
                             .connections = AnyList(random, [&] { return AnyHeld(random); })};
    case 6:
      return ProbesFinished{.round = AnyInteger<uint64_t>(random),
                            .scans = AnyList(random, [&] { return AnyScanSeen(random); })};
    case 7:
      return ArrivalPrepared{.alias = AnyInteger<uint64_t>(random), .error = AnyText(random, 0)};
    case 8:
      return MoveRefused{.job = AnyJobName(random),
                         .connection = AnyInteger<uint64_t>(random),
                         .queue_pair = AnyInteger<uint32_t>(random),
                         .port = AnyInteger<uint16_t>(random),
                         .wire_port = AnyInteger<uint16_t>(random),
                         .reason = AnyText(random, 0)};
    case 9:
      return AnyMeasured(random);
    case 10:
      return AnnouncementFinished{};
    default:
      return AnySeen(random);
  }
}

ToAgent RandomToAgent(Random* random) {
  switch (random->Below(std::variant_size_v<ToAgent>)) {
    case 0:
      return Welcome{.controller_version = AnyText(random, 0),
                     .heartbeat_period = AnyPeriod(random),
                     .lease_ttl = AnyPeriod(random)};
    case 1:
      return Refused{.reason = AnyText(random, 0)};
    case 2:
      return PathsAnswered{.request = AnyInteger<uint64_t>(random),
                           .job = AnyJobName(random),
                           .connections = AnyList(random, [&] { return AnyConnectionAnswer(random); }),
                           .level = AnyInteger<uint32_t>(random)};
    case 3:
      return PathsChanged{.changes = AnyList(random, [&] { return AnyChange(random); })};
    case 4:
      return ProbesWanted{.round = AnyInteger<uint64_t>(random),
                          .scans = AnyList(random, [&] { return AnyScan(random); })};
    case 5:
      return PrepareArrival{.alias = AnyInteger<uint64_t>(random),
                            .source = AnyAddress(random),
                            .destination = AnyAddress(random),
                            .protocol = AnyInteger<uint8_t>(random),
                            .destination_port = AnyInteger<uint16_t>(random),
                            .socket_port = AnyInteger<uint16_t>(random),
                            .wire_port = AnyInteger<uint16_t>(random)};
    case 6:
      return ForgetArrival{.alias = AnyInteger<uint64_t>(random)};
    case 7:
      return AnnouncementWanted{};
    case 8:
      return HostJudged{.findings = AnyList(random, [&] { return AnyFinding(random); })};
    default:
      return LevelSet{.job = AnyJobName(random), .level = AnyInteger<uint32_t>(random), .reason = AnyText(random, 0)};
  }
}

}  // namespace fairlead::wire
