// A connection that wants paths, as everything from the agent to the path service has it, and its description as a
// message and as an agent's state (codec/record.h). What is added here is known in all these places; the schema in api/
// gets its line by FAIRLEAD_UPDATE_GOLDEN=1 wire_test (docs/internals/HACKING.md).
#pragma once

#include <cstdint>
#include <type_traits>

#include "codec/record.h"

namespace fairlead::traffic {

// `Nic` says what its ends are called: IpAddress between hosts, NicId where the fabric is known. Job and `connection`
// name it for as long as it lives: unique among all hosts.
template <class Nic>
struct ConnectionBetween {
  uint64_t connection = 0;
  Nic source;
  Nic destination;               // on another host
  uint32_t num_queue_pairs = 1;  // 1 .. kMaxQueuePairs; 1 for TCP
  double weight = 1;             // of each queue pair; > 0, <= kWeightMax; in any unit that all requests share
  uint8_t protocol = 17;         // 17: RoCE, 6: TCP
  uint16_t destination_port = 4791;
  int32_t pid = 0;  // of the process that opened it, as its host counts; 0: not known

  friend bool operator==(const ConnectionBetween&, const ConnectionBetween&) = default;
};

template <class T>
inline constexpr bool kIsConnection = false;
template <class Nic>
inline constexpr bool kIsConnection<ConnectionBetween<Nic>> = true;

template <class Archive, class Record>
requires kIsConnection<std::remove_const_t<Record>>
void Describe(Archive& archive, Record& wanted) {
  archive.Required(1, "connection", wanted.connection);
  archive.Required(2, "source", wanted.source);
  archive.Required(3, "destination", wanted.destination);
  archive.Optional(4, "num_queue_pairs", wanted.num_queue_pairs);
  archive.Required(5, "weight", wanted.weight, codec::Positive());
  archive.Required(6, "protocol", wanted.protocol);
  archive.Required(7, "destination_port", wanted.destination_port);
  archive.Optional(8, "pid", wanted.pid, codec::PlainInt());
}

// The same connection, its ends by other names. (A field that is missing here does not compile.)
template <class From, class To>
ConnectionBetween<To> Renamed(const ConnectionBetween<From>& wanted, To source, To destination) {
  const auto& [connection, from, to, num_queue_pairs, weight, protocol, destination_port, pid] = wanted;
  return {connection, source, destination, num_queue_pairs, weight, protocol, destination_port, pid};
}

}  // namespace fairlead::traffic
