// What a running controller says of its cluster, as its HTTP gateway gives it out (docs/internals/modules/service.md).
// Keys that this program does not know are skipped, and those that a controller of another version lacks stay unset.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "codec/json_archive.h"
#include "codec/record.h"

namespace fairlead::wire {

struct LiveJob {
  std::string name;
  std::optional<uint32_t> owner;  // user id, where the kernel has verified it
  uint32_t level = 0;
  std::string reason;  // of the level
  uint32_t hosts = 0;
  uint32_t gpus = 0;
  uint32_t connections = 0;
  uint32_t unmanaged_queue_pairs = 0;
  std::optional<double> iteration_s;
  std::optional<double> fastest_iteration_s;
  std::optional<double> lost_gpus;  // GPUs' worth of time, against the fastest iteration
  std::optional<std::string> fullest_link;
  std::vector<std::string> shares_with;

  friend bool operator==(const LiveJob&, const LiveJob&) = default;
};

struct LiveLink {
  std::string name;
  std::string from;
  std::string to;
  std::string tier;
  std::string state;
  double health = 1;
  double capacity_bytes_per_s = 0;
  uint32_t queue_pairs = 0;
  double load = 0;

  friend bool operator==(const LiveLink&, const LiveLink&) = default;
};

struct LiveHost {
  std::string name;
  bool connected = false;
  std::string agent_version = {};
  std::optional<double> last_message_s = {};  // since 1970
  std::string state = {};                     // what matters most of it (service/controller/host_routes.h)
  uint64_t findings = 0;                      // that hold and name it

  friend bool operator==(const LiveHost&, const LiveHost&) = default;
};

// One of several that may be at fault, where it is not known which.
struct LiveCandidate {
  std::string culprit;
  std::string host;  // empty: none
  std::string why;
  std::vector<std::string> evidence = {};

  friend bool operator==(const LiveCandidate&, const LiveCandidate&) = default;
};

struct LiveFinding {
  std::string job;
  uint64_t id = 0;
  std::string syndrome;
  std::vector<std::string> culprits;
  std::vector<std::string> hosts;
  std::vector<uint32_t> ranks;
  std::optional<double> suspected_at_s = {};  // since 1970
  std::optional<double> confirmed_at_s;       // unset: it is suspected only
  std::optional<double> cleared_at_s;         // unset: it holds
  std::optional<double> confidence;
  std::optional<double> cost_share = {};
  std::optional<double> cost_gpu_hours = {};  // a day
  std::string action;
  std::string sub_cause = {};
  std::vector<std::string> signs = {};
  std::string text;
  std::vector<std::string> evidence;
  std::vector<LiveCandidate> candidates = {};  // who stopped first comes first

  friend bool operator==(const LiveFinding&, const LiveFinding&) = default;
};

struct LiveConnection {
  std::string job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  std::optional<int32_t> pid;  // of the process that opened it, on the source's host
  std::string source;
  std::string destination;
  std::string answer;
  uint32_t source_port = 0;
  uint32_t wire_port = 0;
  std::vector<std::string> links;

  friend bool operator==(const LiveConnection&, const LiveConnection&) = default;
};

struct LiveEvent {
  uint64_t number = 0;
  std::optional<double> time_s;
  std::string severity;
  std::string subject;
  std::string text;

  friend bool operator==(const LiveEvent&, const LiveEvent&) = default;
};

struct SteeredHost {
  std::string name;
  std::string condition;

  friend bool operator==(const SteeredHost&, const SteeredHost&) = default;
};

struct OpenAction {
  uint64_t action = 0;
  std::string description;
  std::string waits_for;

  friend bool operator==(const OpenAction&, const OpenAction&) = default;
};

struct LiveSteeringView {
  std::string mode;
  std::vector<std::string> isolated;
  std::vector<SteeredHost> hosts;
  std::vector<OpenAction> open_actions;

  friend bool operator==(const LiveSteeringView&, const LiveSteeringView&) = default;
};

// The answers of /v1/jobs, …, each an object with one list.
struct JobList {
  std::vector<LiveJob> jobs;
};
// A page of them.
struct LinkList {
  uint64_t total = 0;               // that were asked for, over all pages
  std::optional<std::string> next;  // what leads to the next page; unset: it is the last one
  std::vector<LiveLink> links;
};
// Over all hosts of the fabric.
struct HostTotals {
  uint64_t hosts = 0;
  uint64_t connected = 0;
  std::map<std::string, uint64_t> states;
};
// A page of them, as of links.
struct HostList {
  uint64_t total = 0;
  std::optional<std::string> next;
  HostTotals all;
  std::vector<LiveHost> hosts;
};
struct FindingList {
  std::vector<LiveFinding> findings;
};
struct ConnectionList {
  uint64_t total = 0;
  std::vector<LiveConnection> connections;
};
struct EventList {
  std::vector<LiveEvent> events;
};

// An elastic job of Slurm, whose number of nodes the controller chooses.
struct SizedJob {
  uint32_t job = 0;  // its number in Slurm
  uint32_t nodes_min = 0;
  uint32_t nodes_max = 0;
  uint32_t nodes = 0;  // 0: it waits
  std::optional<uint64_t> steps;
  double steps_done = 0;
  double node_seconds = 0;  // that it has had
  uint32_t restarts = 0;
  double restart_cost_s = 0;
  std::string reason;  // of the last decision
};
struct SizeList {
  std::vector<SizedJob> sizes;
};

// What the controller did to a job of Slurm, and why.
struct SlurmAccountEntry {
  double time_s = 0;  // since 1970
  std::string kind;   // "size", "health"
  std::string text;
};
struct SlurmAccount {
  uint32_t job = 0;
  uint32_t owner = 0;
  std::optional<std::string> state;  // in Slurm; unset: Slurm does not show it any more
  bool held = false;
  uint32_t restarts = 0;
  std::vector<std::string> hosts;
  std::string pending_reason;  // of Slurm
  uint64_t left_out = 0;       // entries that are older
  std::vector<SlurmAccountEntry> entries;
};

template <class Archive, codec::IsRecord<LiveJob> Record>
void Describe(Archive& archive, Record& job) {
  archive.Required("name", job.name);
  archive.Optional("owner", job.owner);
  archive.Optional("level", job.level);
  archive.Optional("reason", job.reason);
  archive.Optional("hosts", job.hosts);
  archive.Optional("gpus", job.gpus);
  archive.Optional("connections", job.connections);
  archive.Optional("unmanaged_queue_pairs", job.unmanaged_queue_pairs);
  archive.Optional("iteration_s", job.iteration_s);
  archive.Optional("fastest_iteration_s", job.fastest_iteration_s);
  archive.Optional("lost_gpus", job.lost_gpus);
  archive.Optional("fullest_link", job.fullest_link);
  archive.Optional("shares_with", job.shares_with);
}

template <class Archive, codec::IsRecord<LiveLink> Record>
void Describe(Archive& archive, Record& link) {
  archive.Required("name", link.name);
  archive.Optional("from", link.from);
  archive.Optional("to", link.to);
  archive.Optional("tier", link.tier);
  archive.Optional("state", link.state);
  archive.Optional("health", link.health);
  archive.Optional("capacity_bytes_per_s", link.capacity_bytes_per_s);
  archive.Optional("queue_pairs", link.queue_pairs);
  archive.Optional("load", link.load);
}

template <class Archive, codec::IsRecord<LiveHost> Record>
void Describe(Archive& archive, Record& host) {
  archive.Required("name", host.name);
  archive.Optional("connected", host.connected);
  archive.Optional("agent_version", host.agent_version);
  archive.Optional("last_message_s", host.last_message_s);
  archive.Optional("state", host.state);
  archive.Optional("findings", host.findings);
}

template <class Archive, codec::IsRecord<LiveCandidate> Record>
void Describe(Archive& archive, Record& candidate) {
  archive.Required("culprit", candidate.culprit);
  archive.Optional("host", candidate.host);
  archive.Optional("why", candidate.why);
  archive.Optional("evidence", candidate.evidence);
}

template <class Archive, codec::IsRecord<LiveFinding> Record>
void Describe(Archive& archive, Record& finding) {
  archive.Optional("job", finding.job);
  archive.Required("id", finding.id);
  archive.Optional("syndrome", finding.syndrome);
  archive.Optional("culprits", finding.culprits);
  archive.Optional("hosts", finding.hosts);
  archive.Optional("ranks", finding.ranks);
  archive.Optional("suspected_at_s", finding.suspected_at_s);
  archive.Optional("confirmed_at_s", finding.confirmed_at_s);
  archive.Optional("cleared_at_s", finding.cleared_at_s);
  archive.Optional("confidence", finding.confidence);
  archive.Optional("cost_share", finding.cost_share);
  archive.Optional("cost_gpu_hours", finding.cost_gpu_hours);
  archive.Optional("action", finding.action);
  archive.Optional("sub_cause", finding.sub_cause);
  archive.Optional("signs", finding.signs);
  archive.Optional("text", finding.text);
  archive.Optional("evidence", finding.evidence);
  archive.Optional("candidates", finding.candidates);
}

template <class Archive, codec::IsRecord<LiveConnection> Record>
void Describe(Archive& archive, Record& connection) {
  archive.Optional("job", connection.job);
  archive.Required("connection", connection.connection);
  archive.Optional("queue_pair", connection.queue_pair);
  archive.Optional("pid", connection.pid);
  archive.Optional("source", connection.source);
  archive.Optional("destination", connection.destination);
  archive.Optional("answer", connection.answer);
  archive.Optional("source_port", connection.source_port);
  archive.Optional("wire_port", connection.wire_port);
  archive.Optional("links", connection.links);
}

template <class Archive, codec::IsRecord<LiveEvent> Record>
void Describe(Archive& archive, Record& event) {
  archive.Required("number", event.number);
  archive.Optional("time_s", event.time_s);
  archive.Optional("severity", event.severity);
  archive.Optional("subject", event.subject);
  archive.Optional("text", event.text);
}

template <class Archive, codec::IsRecord<SteeredHost> Record>
void Describe(Archive& archive, Record& host) {
  archive.Required("name", host.name);
  archive.Required("condition", host.condition);
}

template <class Archive, codec::IsRecord<OpenAction> Record>
void Describe(Archive& archive, Record& action) {
  archive.Required("action", action.action);
  archive.Optional("description", action.description);
  archive.Optional("waits_for", action.waits_for);
}

template <class Archive, codec::IsRecord<LiveSteeringView> Record>
void Describe(Archive& archive, Record& steering) {
  archive.Optional("mode", steering.mode);
  archive.Optional("isolated", steering.isolated);
  archive.Optional("hosts", steering.hosts);
  archive.Optional("open_actions", steering.open_actions);
}

template <class Archive, codec::IsRecord<JobList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Required("jobs", list.jobs);
}

template <class Archive, codec::IsRecord<LinkList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Optional("total", list.total);
  archive.Optional("next", list.next);
  archive.Required("links", list.links);
}

template <class Archive, codec::IsRecord<HostTotals> Record>
void Describe(Archive& archive, Record& totals) {
  archive.Optional("hosts", totals.hosts);
  archive.Optional("connected", totals.connected);
  archive.Optional("states", totals.states);
}

template <class Archive, codec::IsRecord<HostList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Optional("total", list.total);
  archive.Optional("next", list.next);
  archive.Optional("all", list.all);
  archive.Required("hosts", list.hosts);
}

template <class Archive, codec::IsRecord<FindingList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Required("findings", list.findings);
}

template <class Archive, codec::IsRecord<ConnectionList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Required("total", list.total);
  archive.Required("connections", list.connections);
}

template <class Archive, codec::IsRecord<EventList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Required("events", list.events);
}

template <class Archive, codec::IsRecord<SizedJob> Record>
void Describe(Archive& archive, Record& job) {
  archive.Required("job", job.job);
  archive.Optional("nodes_min", job.nodes_min);
  archive.Optional("nodes_max", job.nodes_max);
  archive.Optional("nodes", job.nodes);
  archive.Optional("steps", job.steps);
  archive.Optional("steps_done", job.steps_done);
  archive.Optional("node_seconds", job.node_seconds);
  archive.Optional("restarts", job.restarts);
  archive.Optional("restart_cost_s", job.restart_cost_s);
  archive.Optional("reason", job.reason);
}

template <class Archive, codec::IsRecord<SlurmAccountEntry> Record>
void Describe(Archive& archive, Record& entry) {
  archive.Required("time_s", entry.time_s);
  archive.Optional("kind", entry.kind);
  archive.Required("text", entry.text);
}

template <class Archive, codec::IsRecord<SlurmAccount> Record>
void Describe(Archive& archive, Record& account) {
  archive.Required("job", account.job);
  archive.Optional("owner", account.owner);
  archive.Optional("state", account.state);
  archive.Optional("held", account.held);
  archive.Optional("restarts", account.restarts);
  archive.Optional("hosts", account.hosts);
  archive.Optional("pending_reason", account.pending_reason);
  archive.Optional("left_out", account.left_out);
  archive.Required("entries", account.entries);
}

template <class Archive, codec::IsRecord<SizeList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Required("sizes", list.sizes);
}

// The answer of a gateway. Args: url: of the answer, for messages. Errors: kUnavailable: it is none of a controller.
template <class Record>
Result<Record> ReadAnswer(const codec::Json& json, const std::string& url) {
  Record record;
  const std::string error = codec::ReadValue(json, codec::UnknownKeys::kIgnored, &record);
  if (error.empty()) return record;
  return Unavailable(url + " can't be read (" + codec::WithoutJoint(error) +
                     "); is the controller of another version?");
}

}  // namespace fairlead::wire
