// One finding with all that people need to believe it, as the gateway gives it out under /v1/findings/NUMBER: what it
// says, the job's iterations around the moment, who waited for whom, which transfers were slow, what was found about
// its hosts before, and what to look at next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/record.h"
#include "wire/cluster_records.h"

namespace fairlead::wire {

// As many consecutive iterations of the job in each block.
struct LiveBlock {
  double at_s = 0;  // since 1970, when all of it was known
  double seconds = 0;
  // By the accused ranks themselves, the slowest of them; and by the others that do the same: quartiles.
  std::optional<double> own_seconds = {};
  std::optional<double> like_low_seconds = {};
  std::optional<double> like_median_seconds = {};
  std::optional<double> like_high_seconds = {};

  friend bool operator==(const LiveBlock&, const LiveBlock&) = default;
};

struct LiveWaitNode {
  std::string label;          // "rank 3", "all_reduce 17 on world", "1,023 ranks: 0–4, 6–1023"
  bool is_operation = false;  // or several
  bool is_culprit = false;

  friend bool operator==(const LiveWaitNode&, const LiveWaitNode&) = default;
};

// Between nodes, by index.
struct LiveWait {
  uint32_t from = 0;  // that waits
  uint32_t to = 0;

  friend bool operator==(const LiveWait&, const LiveWait&) = default;
};

struct LiveDelay {
  uint32_t source = 0;  // rank
  uint32_t destination = 0;
  double ratio = 1;  // time for each message over what is usual
  bool is_accused = false;

  friend bool operator==(const LiveDelay&, const LiveDelay&) = default;
};

struct LiveThreadGroup {
  std::string name;
  std::string state;  // "sleeping", "running", "blocked", "stopped", "ended"
  std::string place;  // functions of the kernel, innermost first; empty: in none, or not known
  uint32_t count = 1;

  friend bool operator==(const LiveThreadGroup&, const LiveThreadGroup&) = default;
};

// Ranks whose first threads are in the same place.
struct LiveThreads {
  std::string ranks;  // "rank 3", "1,023 ranks: 0–4, 6–1023"
  bool is_accused = false;
  std::vector<LiveThreadGroup> groups;  // of one of them: that of its first thread, then by size

  friend bool operator==(const LiveThreads&, const LiveThreads&) = default;
};

// Another finding that names one of the hosts.
struct PastFinding {
  uint64_t id = 0;
  std::string job;
  std::string text;
  std::optional<double> confirmed_at_s;
  std::optional<double> cleared_at_s;  // unset: it holds

  friend bool operator==(const PastFinding&, const PastFinding&) = default;
};

struct NextStep {
  std::string command;
  std::string shows;

  friend bool operator==(const NextStep&, const NextStep&) = default;
};

struct FindingDetail {
  LiveFinding finding;
  std::optional<double> seen_at_s;  // of what follows; unset: it is not known any more
  std::vector<LiveBlock> blocks;    // oldest first
  std::vector<LiveWaitNode> wait_nodes;
  std::vector<LiveWait> waits;
  std::vector<LiveDelay> delays;
  uint32_t delays_left_out = 0;
  std::vector<std::string> rank_hosts;  // [rank]; empty where there are no delays
  std::vector<LiveThreads> threads;     // accused ranks first; empty: not known, or not a hang
  std::vector<PastFinding> history;     // newest first
  std::vector<NextStep> next;

  friend bool operator==(const FindingDetail&, const FindingDetail&) = default;
};

template <class Archive, codec::IsRecord<LiveBlock> Record>
void Describe(Archive& archive, Record& block) {
  archive.Required("at_s", block.at_s);
  archive.Required("seconds", block.seconds);
  archive.Optional("own_seconds", block.own_seconds);
  archive.Optional("like_low_seconds", block.like_low_seconds);
  archive.Optional("like_median_seconds", block.like_median_seconds);
  archive.Optional("like_high_seconds", block.like_high_seconds);
}

template <class Archive, codec::IsRecord<LiveWaitNode> Record>
void Describe(Archive& archive, Record& node) {
  archive.Required("label", node.label);
  archive.Optional("is_operation", node.is_operation);
  archive.Optional("is_culprit", node.is_culprit);
}

template <class Archive, codec::IsRecord<LiveWait> Record>
void Describe(Archive& archive, Record& wait) {
  archive.Required("from", wait.from);
  archive.Required("to", wait.to);
}

template <class Archive, codec::IsRecord<LiveDelay> Record>
void Describe(Archive& archive, Record& delay) {
  archive.Required("source", delay.source);
  archive.Required("destination", delay.destination);
  archive.Required("ratio", delay.ratio);
  archive.Optional("is_accused", delay.is_accused);
}

template <class Archive, codec::IsRecord<LiveThreadGroup> Record>
void Describe(Archive& archive, Record& group) {
  archive.Required("name", group.name);
  archive.Required("state", group.state);
  archive.Optional("place", group.place);
  archive.Required("count", group.count);
}

template <class Archive, codec::IsRecord<LiveThreads> Record>
void Describe(Archive& archive, Record& threads) {
  archive.Required("ranks", threads.ranks);
  archive.Optional("is_accused", threads.is_accused);
  archive.Required("groups", threads.groups);
}

template <class Archive, codec::IsRecord<PastFinding> Record>
void Describe(Archive& archive, Record& finding) {
  archive.Required("id", finding.id);
  archive.Optional("job", finding.job);
  archive.Optional("text", finding.text);
  archive.Optional("confirmed_at_s", finding.confirmed_at_s);
  archive.Optional("cleared_at_s", finding.cleared_at_s);
}

template <class Archive, codec::IsRecord<NextStep> Record>
void Describe(Archive& archive, Record& step) {
  archive.Required("command", step.command);
  archive.Optional("shows", step.shows);
}

template <class Archive, codec::IsRecord<FindingDetail> Record>
void Describe(Archive& archive, Record& detail) {
  archive.Required("finding", detail.finding);
  archive.Optional("seen_at_s", detail.seen_at_s);
  archive.Optional("blocks", detail.blocks);
  archive.Optional("wait_nodes", detail.wait_nodes);
  archive.Optional("waits", detail.waits);
  archive.Optional("delays", detail.delays);
  archive.Optional("delays_left_out", detail.delays_left_out);
  archive.Optional("rank_hosts", detail.rank_hosts);
  archive.Optional("threads", detail.threads);
  archive.Optional("history", detail.history);
  archive.Optional("next", detail.next);
  // What draws it relies on that.
  archive.Law([&]() -> std::string {
    for (const LiveWait& wait : detail.waits) {
      if (wait.from >= detail.wait_nodes.size() || wait.to >= detail.wait_nodes.size()) return "waits: no such node";
    }
    for (const LiveDelay& delay : detail.delays) {
      const bool is_known = delay.source < detail.rank_hosts.size() && delay.destination < detail.rank_hosts.size();
      if (!is_known) return "delays: a rank without a host";
    }
    return "";
  });
}

}  // namespace fairlead::wire
