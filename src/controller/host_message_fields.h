// The fields of what agents and the controller tell each other (codec/record.h): names in errors and in what an agent
// keeps, numbers in messages. They never change meaning; api/fairlead/v1/agent.proto says the same for other programs.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/utf8.h"
#include "codec/record.h"
#include "controller/host_messages.h"
#include "model/finding_fields.h"
#include "model/job_identity.h"
#include "telemetry/process_report_fields.h"
#include "traffic/path_message_fields.h"

namespace fairlead::codec {

template <>
inline constexpr uint64_t kNumEnumerators<controller::HostTestKind> = 3;

}  // namespace fairlead::codec

namespace fairlead::controller {

// Of hosts, and of jobs as the controller names them.
inline constexpr size_t kNameBytesMax = 255;

// Whether a name can be sent: 1 .. kNameBytesMax bytes of UTF-8.
inline bool IsName(std::string_view text) { return !text.empty() && text.size() <= kNameBytesMax && IsUtf8(text); }

// ---- Rules ----

// The key of a job: what agents send of it comes from processes and the kernel (model/job_identity.h).
struct JobKey {
  std::string Fault(const std::string& key) const { return std::string(model::CheckJobKey(key, "").message()); }
  void Fill(Random* random, std::string* key) const {
    static constexpr std::string_view kCharacters = "azAZ09._-";
    std::string name(1 + random->Below(63), ' ');
    for (char& c : name) c = kCharacters[random->Below(kCharacters.size())];
    *key = model::JobKey({.name = name, .owner = static_cast<uint32_t>(random->Below(3))});
  }
};

struct AnyName {
  std::string Fault(const std::string& name) const {
    if (IsName(name)) return "";
    return fmt::format(": expected a name of 1 to {} bytes of UTF-8, found {} bytes", kNameBytesMax, name.size());
  }
  void Fill(Random* random, std::string* name) const { JobKey().Fill(random, name); }
};

// ---- From an agent ----

template <class Archive, codec::IsRecord<HostHello> Record>
void Describe(Archive& archive, Record& hello) {
  archive.Required(1, "protocol_version", hello.protocol_version);
  archive.Required(2, "host", hello.host);
  archive.Required(3, "agent_version", hello.agent_version);
  archive.Required(4, "nics", hello.nics);
  archive.Optional(5, "can_test", hello.can_test);
  // The name of a host that speaks another version may have another form: the version is checked first.
  archive.Law([&] {
    const std::string fault = hello.protocol_version == kProtocolVersion ? AnyName().Fault(hello.host) : "";
    return fault.empty() ? fault : "host" + fault;
  });
}

template <class Archive, codec::IsRecord<Heartbeat> Record>
void Describe(Archive& archive, Record& heartbeat) {
  archive.Required(1, "num_leases", heartbeat.num_leases);
  archive.Optional(2, "sees_slurm", heartbeat.sees_slurm);
  archive.Optional(3, "slurm_jobs", heartbeat.slurm_jobs);
}

template <class Archive, codec::IsRecord<PathsWanted> Record>
void Describe(Archive& archive, Record& wanted) {
  archive.Required(1, "request", wanted.request);
  archive.Required(2, "job", wanted.job, JobKey());
  archive.Required(3, "connections", wanted.connections);
}

template <class Archive, codec::IsRecord<ConnectionOpened> Record>
void Describe(Archive& archive, Record& opened) {
  archive.Required(1, "job", opened.job, JobKey());
  archive.Required(2, "connection", opened.connection);
  archive.Required(3, "queue_pair", opened.queue_pair);
  archive.Required(4, "socket_port", opened.socket_port);
}

template <class Archive, codec::IsRecord<ConnectionsClosed> Record>
void Describe(Archive& archive, Record& closed) {
  archive.Required(1, "job", closed.job, JobKey());
  archive.Required(2, "connections", closed.connections);
}

template <class Archive, codec::IsRecord<HeldConnection> Record>
void Describe(Archive& archive, Record& held) {
  archive.Required(1, "wanted", held.wanted);
  archive.Required(2, "queue_pairs", held.queue_pairs);
  archive.Required(3, "socket_ports", held.socket_ports);
  archive.Law([&] {
    if (held.queue_pairs.size() == held.socket_ports.size()) return std::string();
    return fmt::format("socket_ports: expected one for each of {} queue pairs, found {}", held.queue_pairs.size(),
                       held.socket_ports.size());
  });
}

template <class Archive, codec::IsRecord<ConnectionsHeld> Record>
void Describe(Archive& archive, Record& held) {
  archive.Required(1, "job", held.job, JobKey());
  archive.Required(2, "connections", held.connections);
}

template <class Archive, codec::IsRecord<AnnouncementFinished> Record>
void Describe(Archive& /*archive*/, Record& /*finished*/) {}

template <class Archive, codec::IsRecord<ProbedRoute> Record>
void Describe(Archive& archive, Record& route) {
  archive.Required(1, "hops", route.hops, codec::MaybeUnset());
  archive.Required(2, "sent", route.sent);
  archive.Required(3, "lost", route.lost);
  archive.Required(4, "rtt_s", route.rtt);
  archive.Required(5, "source_ports", route.source_ports);
  archive.Law([&] {
    if (route.lost <= route.sent) return std::string();
    return fmt::format("lost: expected at most the {} that were sent, found {}", route.sent, route.lost);
  });
}

template <class Archive, codec::IsRecord<PortScanSeen> Record>
void Describe(Archive& archive, Record& scan) {
  archive.Required(1, "source", scan.source);
  archive.Required(2, "destination", scan.destination);
  archive.Required(3, "plane", scan.plane);
  archive.Required(4, "protocol", scan.protocol);
  archive.Required(5, "destination_port", scan.destination_port);
  archive.Required(6, "epoch", scan.epoch);
  archive.Required(7, "routes", scan.routes);
}

template <class Archive, codec::IsRecord<ProbesFinished> Record>
void Describe(Archive& archive, Record& finished) {
  archive.Required(1, "round", finished.round);
  archive.Required(3, "scans", finished.scans);
}

template <class Archive, codec::IsRecord<ArrivalPrepared> Record>
void Describe(Archive& archive, Record& prepared) {
  archive.Required(1, "alias", prepared.alias);
  archive.Required(2, "error", prepared.error);
}

template <class Archive, codec::IsRecord<MoveRefused> Record>
void Describe(Archive& archive, Record& refused) {
  archive.Required(1, "job", refused.job, JobKey());
  archive.Required(2, "connection", refused.connection);
  archive.Required(3, "queue_pair", refused.queue_pair);
  archive.Required(4, "port", refused.port);
  archive.Required(5, "wire_port", refused.wire_port);
  archive.Required(6, "reason", refused.reason);
}

template <class Archive, codec::IsRecord<JobMeasured> Record>
void Describe(Archive& archive, Record& measured) {
  auto& profile = measured.profile;
  archive.Required(1, "job", measured.job, JobKey());
  archive.Required(2, "num_gpus", measured.num_gpus);
  archive.Required(3, "iteration_s", profile.iteration_time, codec::Positive());
  archive.Required(4, "compute_s", profile.compute_time);
  archive.Required(5, "start_fraction", profile.start_fraction, codec::Amount{1});
  archive.Required(6, "work_flop", profile.work);
  archive.Required(7, "connections", measured.connections);
  archive.Required(8, "connection_bytes", profile.flow_bytes);
  archive.Required(9, "is_period_unknown", profile.is_period_known, codec::Negated());
  archive.Law([&] {
    if (measured.connections.size() == profile.flow_bytes.size()) return std::string();
    return fmt::format("connection_bytes: expected one for each of {} connections, found {}",
                       measured.connections.size(), profile.flow_bytes.size());
  });
}

// Empty: fine.
inline std::string FaultOfSymptoms(const std::vector<model::HostSymptomRecord>& symptoms) {
  for (const model::HostSymptomRecord& symptom : symptoms) {
    const size_t bytes = symptom.text.size();
    if (bytes > kSymptomBytesMax || !IsUtf8(symptom.text)) {
      return fmt::format("symptoms: expected at most {} bytes of UTF-8, found {} bytes", kSymptomBytesMax, bytes);
    }
  }
  return "";
}

template <class Archive, codec::IsRecord<ProcessesSeen> Record>
void Describe(Archive& archive, Record& seen) {
  archive.Required(1, "job", seen.job, JobKey());
  archive.Required(2, "number", seen.number);
  archive.Required(3, "at", seen.at);
  archive.Required(4, "processes", seen.processes, codec::AtMost{kProcessesMax});
  archive.Optional(5, "symptoms", seen.symptoms, codec::AtMost{kSymptomsMax});
  archive.Law([&] {
    if (!telemetry::IsReportInstant(seen.at)) return fmt::format("at: found {}, which is not an instant", seen.at.ns());
    if (std::string fault = FaultOfSymptoms(seen.symptoms); !fault.empty()) return fault;
    size_t num_records = 0;
    for (const telemetry::SeenProcess& process : seen.processes) num_records += telemetry::NumRecords(process.report);
    if (num_records <= telemetry::kProcessRecordsMax) return std::string();
    return fmt::format("processes: expected at most {} records together, found {}", telemetry::kProcessRecordsMax,
                       num_records);
  });
}

template <class Archive, codec::IsRecord<HostTestReady> Record>
void Describe(Archive& archive, Record& ready) {
  archive.Required(1, "test", ready.test);
  archive.Required(2, "port", ready.port);
}

template <class Archive, codec::IsRecord<HostTestDone> Record>
void Describe(Archive& archive, Record& done) {
  archive.Required(1, "test", done.test);
  archive.Required(2, "error", done.error);
  archive.Required(3, "bytes_per_s", done.rate, codec::Amount{});
  archive.Required(4, "lost_share", done.lost_share, codec::Amount{1});
  archive.Required(5, "rtt_s", done.rtt);
  archive.Required(6, "score", done.score, codec::Amount{});
  archive.Optional(7, "symptoms", done.symptoms, codec::AtMost{kSymptomsMax});
  archive.Required(8, "is_refused", done.is_refused);
  archive.Law([&] {
    if (done.error.size() > kSymptomBytesMax || !IsUtf8(done.error)) {
      return fmt::format("error: expected at most {} bytes of UTF-8, found {} bytes", kSymptomBytesMax,
                         done.error.size());
    }
    return FaultOfSymptoms(done.symptoms);
  });
}

template <class Archive, codec::IsRecord<FromAgent> Record>
void Describe(Archive& archive, Record& message) {
  archive.template OneOf<HostHello>(1, "hello", message);
  archive.template OneOf<Heartbeat>(2, "heartbeat", message);
  archive.template OneOf<PathsWanted>(3, "paths_wanted", message);
  archive.template OneOf<ConnectionOpened>(4, "connection_opened", message);
  archive.template OneOf<ConnectionsClosed>(5, "connections_closed", message);
  archive.template OneOf<ConnectionsHeld>(6, "connections_held", message);
  archive.template OneOf<ProbesFinished>(7, "probes_finished", message);
  archive.template OneOf<ArrivalPrepared>(8, "arrival_prepared", message);
  archive.template OneOf<JobMeasured>(9, "job_measured", message);
  archive.template OneOf<AnnouncementFinished>(10, "announcement_finished", message);
  archive.template OneOf<ProcessesSeen>(11, "processes_seen", message);
  archive.template OneOf<MoveRefused>(12, "move_refused", message);
  archive.template OneOf<HostTestReady>(13, "host_test_ready", message);
  archive.template OneOf<HostTestDone>(14, "host_test_done", message);
}

// ---- To an agent ----

template <class Archive, codec::IsRecord<Welcome> Record>
void Describe(Archive& archive, Record& welcome) {
  archive.Required(1, "controller_version", welcome.controller_version);
  archive.Required(2, "heartbeat_period_ns", welcome.heartbeat_period, codec::Positive());
  archive.Required(3, "lease_ttl_ns", welcome.lease_ttl, codec::Positive());
}

template <class Archive, codec::IsRecord<Refused> Record>
void Describe(Archive& archive, Record& refused) {
  archive.Required(1, "reason", refused.reason);
}

template <class Archive, codec::IsRecord<PathsAnswered> Record>
void Describe(Archive& archive, Record& answered) {
  archive.Required(1, "request", answered.request);
  archive.Required(2, "job", answered.job, AnyName());
  archive.Required(3, "connections", answered.connections);
  archive.Required(4, "level", answered.level);
}

template <class Archive, codec::IsRecord<QueuePairChanged> Record>
void Describe(Archive& archive, Record& change) {
  archive.Required(1, "job", change.job, AnyName());
  archive.Required(2, "connection", change.connection);
  archive.Required(3, "queue_pair", change.queue_pair);
  archive.Required(4, "answer", change.answer);
  archive.Required(5, "cause", change.cause, codec::FromOne());
  archive.Required(6, "is_prepared", change.is_prepared);
}

template <class Archive, codec::IsRecord<PathsChanged> Record>
void Describe(Archive& archive, Record& changed) {
  archive.Required(1, "changes", changed.changes);
}

template <class Archive, codec::IsRecord<PortScanWanted> Record>
void Describe(Archive& archive, Record& scan) {
  archive.Required(1, "source", scan.source);
  archive.Required(2, "destination", scan.destination);
  archive.Required(3, "plane", scan.plane);
  archive.Required(4, "protocol", scan.protocol);
  archive.Required(5, "destination_port", scan.destination_port);
  archive.Required(6, "epoch", scan.epoch);
  archive.Required(7, "source_ports", scan.source_ports);
}

template <class Archive, codec::IsRecord<ProbesWanted> Record>
void Describe(Archive& archive, Record& wanted) {
  archive.Required(1, "round", wanted.round);
  archive.Required(2, "scans", wanted.scans);
}

template <class Archive, codec::IsRecord<PrepareArrival> Record>
void Describe(Archive& archive, Record& prepare) {
  archive.Required(1, "alias", prepare.alias);
  archive.Required(2, "source", prepare.source);
  archive.Required(3, "destination", prepare.destination);
  archive.Required(4, "protocol", prepare.protocol);
  archive.Required(5, "destination_port", prepare.destination_port);
  archive.Required(6, "socket_port", prepare.socket_port);
  archive.Required(7, "wire_port", prepare.wire_port);
}

template <class Archive, codec::IsRecord<ForgetArrival> Record>
void Describe(Archive& archive, Record& forget) {
  archive.Required(1, "alias", forget.alias);
}

template <class Archive, codec::IsRecord<AnnouncementWanted> Record>
void Describe(Archive& /*archive*/, Record& /*wanted*/) {}

template <class Archive, codec::IsRecord<LevelSet> Record>
void Describe(Archive& archive, Record& level) {
  archive.Required(1, "job", level.job, AnyName());
  archive.Required(2, "level", level.level);
  archive.Required(3, "reason", level.reason);
}

template <class Archive, codec::IsRecord<HostJudged::Finding> Record>
void Describe(Archive& archive, Record& finding) {
  archive.Required(1, "job", finding.job, AnyName());
  archive.Required(2, "syndrome", finding.syndrome);
  archive.Required(3, "text", finding.text);
  archive.Required(4, "action", finding.action);
}

template <class Archive, codec::IsRecord<HostJudged> Record>
void Describe(Archive& archive, Record& judged) {
  archive.Required(1, "findings", judged.findings);
}

template <class Archive, codec::IsRecord<HostTestWanted> Record>
void Describe(Archive& archive, Record& wanted) {
  archive.Required(1, "test", wanted.test);
  archive.Required(2, "kind", wanted.kind);
  archive.Required(3, "local", wanted.local, codec::MaybeUnset());
  archive.Required(4, "peer", wanted.peer, codec::MaybeUnset());
  archive.Required(5, "port", wanted.port);
  archive.Required(6, "secret", wanted.secret);
  archive.Required(7, "num_streams", wanted.num_streams);
  archive.Required(8, "bytes_per_s_max", wanted.rate_max, codec::Amount{});
  archive.Required(9, "length_ns", wanted.length, codec::Positive());
  archive.Required(10, "despite_jobs", wanted.despite_jobs);
}

template <class Archive, codec::IsRecord<HostTestsCancelled> Record>
void Describe(Archive& /*archive*/, Record& /*cancelled*/) {}

template <class Archive, codec::IsRecord<ToAgent> Record>
void Describe(Archive& archive, Record& message) {
  archive.template OneOf<Welcome>(1, "welcome", message);
  archive.template OneOf<Refused>(2, "refused", message);
  archive.template OneOf<PathsAnswered>(3, "paths_answered", message);
  archive.template OneOf<PathsChanged>(4, "paths_changed", message);
  archive.template OneOf<ProbesWanted>(5, "probes_wanted", message);
  archive.template OneOf<PrepareArrival>(6, "prepare_arrival", message);
  archive.template OneOf<ForgetArrival>(7, "forget_arrival", message);
  archive.template OneOf<AnnouncementWanted>(8, "announcement_wanted", message);
  archive.template OneOf<LevelSet>(9, "level_set", message);
  archive.template OneOf<HostJudged>(10, "host_judged", message);
  archive.template OneOf<HostTestWanted>(11, "host_test_wanted", message);
  archive.template OneOf<HostTestsCancelled>(12, "host_tests_cancelled", message);
}

}  // namespace fairlead::controller
