// Checks of hosts (controller/node_checks.h) as the controller's gateway gives them out, and takes them on.
// Keys that this program does not know are skipped, and those that a controller of another version lacks stay unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/json_archive.h"
#include "codec/record.h"

namespace fairlead::wire {

struct LiveCheckedHost {
  std::string name;
  bool is_partner = false;  // taken in for the others' sake
  std::string verdict;      // "waiting", "passed", "failed", "undecided"
  std::vector<std::string> reasons;
  std::optional<double> rate_share;     // of its worst direction: of what is usual
  std::optional<double> burn_in_score;  // as the operator's program counts

  friend bool operator==(const LiveCheckedHost&, const LiveCheckedHost&) = default;
};

struct LiveNodeCheck {
  uint64_t number = 0;
  std::string who;  // asked for it
  double began_s = 0;
  std::optional<double> ended_s;  // nothing: it is under way
  uint64_t steps = 0;
  uint64_t finished_steps = 0;
  double usual_bytes_per_s = 0;  // of a NIC; 0: not measured
  std::vector<LiveCheckedHost> hosts;

  friend bool operator==(const LiveNodeCheck&, const LiveNodeCheck&) = default;
};
struct NodeCheckList {
  std::vector<LiveNodeCheck> checks;  // oldest first
};

// What is asked for. Times in s.
struct NodeCheckOrder {
  std::vector<std::string> hosts;
  double transfer_s = 2;
  double burn_in_s = 0;  // 0: there is none
  uint32_t streams = 4;
  bool while_training = false;
};
struct NodeCheckBegun {
  uint64_t check = 0;
};

template <class Archive, codec::IsRecord<LiveCheckedHost> Record>
void Describe(Archive& archive, Record& host) {
  archive.Required("name", host.name);
  archive.Optional("is_partner", host.is_partner);
  archive.Required("verdict", host.verdict);
  archive.Optional("reasons", host.reasons);
  archive.Optional("rate_share", host.rate_share);
  archive.Optional("burn_in_score", host.burn_in_score);
}

template <class Archive, codec::IsRecord<LiveNodeCheck> Record>
void Describe(Archive& archive, Record& check) {
  archive.Required("number", check.number);
  archive.Optional("who", check.who);
  archive.Optional("began_s", check.began_s);
  archive.Optional("ended_s", check.ended_s);
  archive.Optional("steps", check.steps);
  archive.Optional("finished_steps", check.finished_steps);
  archive.Optional("usual_bytes_per_s", check.usual_bytes_per_s);
  archive.Required("hosts", check.hosts);
}

template <class Archive, codec::IsRecord<NodeCheckList> Record>
void Describe(Archive& archive, Record& list) {
  archive.Required("checks", list.checks);
}

template <class Archive, codec::IsRecord<NodeCheckOrder> Record>
void Describe(Archive& archive, Record& order) {
  archive.Required("hosts", order.hosts);
  archive.Optional("transfer_s", order.transfer_s);
  archive.Optional("burn_in_s", order.burn_in_s);
  archive.Optional("streams", order.streams);
  archive.Optional("while_training", order.while_training);
}

template <class Archive, codec::IsRecord<NodeCheckBegun> Record>
void Describe(Archive& archive, Record& begun) {
  archive.Required("check", begun.check);
}

}  // namespace fairlead::wire
