// Which connections can disturb each other, and since when nothing changes among them.
//
// Problem     most packets of a long message tell nothing new: the same connections share the same links at the same
//             rates until one of them begins or ends.
// Method      connections at work that share links, directly or through others, form a partition; what happens in one
//             reaches another only through messages that wait. In each, rates are sampled whenever so many packets have
//             arrived. It is steady when over the last samples no connection's rate has moved by more than a tolerance
//             of its mean and one packet, the least that can be seen.
// Cost        O(members * links of a connection) when a connection begins or ends, O(1) a packet.
// Differs     the original samples senders' rates, 2,000 times; ours are rates of arrival over spans of many packets:
//             those of single packets jump wherever connections take turns on a link.
// Reference   Wormhole (arXiv 2602.10615, NSDI'26); specification "rivals and fabrics", section 7.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "packet/packet_workload.h"

namespace fairlead::packet {

struct SteadyStateOptions {
  // Larger: more is taken for steady, and extrapolated with a greater error. 0.05: at most 5.3 % of a rate.
  double tolerance = 0.05;
  uint32_t samples = 8;              // >= 2; more: later, and surer
  uint32_t packets_per_sample = 64;  // for each connection of the partition, in the mean; >= 1
};

// Rates of the connections of a partition, since something changed last.
class RateHistory {
 public:
  // Args: payload: bytes of a whole packet.
  RateHistory(const SteadyStateOptions& options, uint32_t payload) : options_(options), payload_(payload) {}

  // Times in picoseconds.
  void Restart(size_t num_members, int64_t now);
  // True: a sample is complete.
  bool OnArrival(size_t member, uint32_t bytes, int64_t now);
  bool IsSteady() const;
  // Over all samples kept, bytes of payload a picosecond; needs one.
  double RateOf(size_t member) const;
  int64_t LastSampleSpan() const { return samples_.back().span; }

 private:
  struct Sample {
    int64_t span = 0;
    std::vector<uint64_t> bytes;  // [member]
  };

  SteadyStateOptions options_;
  uint32_t payload_;
  std::deque<Sample> samples_;
  std::vector<uint64_t> bytes_;  // [member] of the sample under way
  uint64_t num_packets_ = 0;
  int64_t since_ = 0;
  bool is_settling_ = true;  // the first span of a history still has packets of before in it, or none yet
};

struct Partition {
  std::vector<uint32_t> members;  // connections at work
  RateHistory history;
};

class PartitionTable {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  PartitionTable(const PacketWorkload& workload, const SteadyStateOptions& options, uint32_t payload);

  // Of a connection, kNone while it has nothing to send; of a link, kNone while none at work uses it.
  uint32_t OfConnection(uint32_t connection) const { return of_connection_[connection]; }
  uint32_t OfLink(uint32_t link) const { return of_link_[link]; }
  // The links of all of the connection's paths, ascending.
  const std::vector<uint32_t>& LinksOf(uint32_t connection) const { return links_of_[connection]; }

  Partition& at(uint32_t partition) { return partitions_.at(partition); }
  // The connection's place among the members of its partition.
  size_t PlaceOf(uint32_t connection) const { return place_of_[connection]; }

  // The connection begins or ends: partitions join or fall apart, and those concerned begin their histories anew.
  void Join(uint32_t connection, int64_t now);
  void Leave(uint32_t connection, int64_t now);

 private:
  void Move(uint32_t connection, uint32_t partition);

  SteadyStateOptions options_;
  uint32_t payload_;
  std::vector<std::vector<uint32_t>> links_of_;  // [connection]
  std::vector<uint32_t> of_connection_;
  std::vector<size_t> place_of_;
  std::vector<uint32_t> of_link_;
  std::map<uint32_t, Partition> partitions_;
  uint32_t next_partition_ = 0;
};

}  // namespace fairlead::packet
