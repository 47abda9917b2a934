// Builds a Fabric: hosts, switches and cables go in, one checked graph comes out.
//
// Like a YamlMap, the builder keeps the first mistake and reports it in Build(), so that shapes read as lists of
// cables:
//
//     FabricBuilder builder;
//     const NodeId leaf = builder.AddSwitch(NodeKind::kLeaf);
//     const HostId host = builder.AddHost(HostSpec());
//     builder.AddCable(builder.nic(host, 0), leaf, GigabitsPerSecond(200));
//     return std::move(builder).Build();
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "topology/fabric.h"
#include "topology/host_spec.h"

namespace fairlead::topology {

class FabricBuilder {
 public:
  // More links are refused. 2^27 is a fabric of about ten million GPUs and 3 GB.
  static constexpr uint64_t kMaxLinks = uint64_t{1} << 27;
  // Cables between one switch and other switches; hosts don't count. Route tables hold such numbers in 16 bits.
  static constexpr int64_t kMaxSwitchCables = 65535;

  explicit FabricBuilder(uint64_t max_links = kMaxLinks) : max_links_(max_links) {}

  // Makes room for `num_hosts` hosts of one kind, `num_switches` and `num_switch_cables` between switches. Shapes call
  // it before anything else, because it is what refuses absurd sizes before memory is taken. Errors:
  // kResourceExhausted, naming the number of links and the limit.
  Status Reserve(const HostSpec& host, double num_hosts, double num_switches, double num_switch_cables);

  // Adds a host with everything inside it. Hosts either all have a label or none has; labels differ.
  HostId AddHost(const HostSpec& spec, std::string label = "");
  // Adds a kLeaf, kSpine or kCore. An empty label leaves the name "leaf4".
  NodeId AddSwitch(NodeKind kind, std::string label = "");
  std::vector<NodeId> AddSwitches(NodeKind kind, uint32_t count);
  // Adds both directions, as LinkIds 2k (from `a` to `b`) and 2k+1, each with `capacity`. The kinds must be neighbours
  // in the picture of fabric.h. Returns the link from `a` to `b`.
  LinkId AddCable(NodeId a, NodeId b, BytesPerSecond capacity);

  // Cables every port of a host to a leaf, ports taking turns over `leaves` (one or more): all on one leaf, or
  // alternating over a pair.
  void CablePorts(HostId host, const HostSpec& spec, std::span<const NodeId> leaves);

  // NIC number `index` of a host; invalid after a mistake, when cables are no longer laid anyway.
  NodeId nic(HostId host, uint32_t index) const {
    if (!error_.ok()) return NodeId();
    return fabric_.nics_.nodes[NicId(fabric_.hosts_.first_nic[host.index()].value() + index)];
  }
  bool IsNic(NodeId node) const { return fabric_.kind(node) == NodeKind::kNic; }
  // Sum of the cables that a node has so far, in one direction. While a fabric is built from below, this is what a
  // switch must carry upwards.
  BytesPerSecond AttachedCapacity(NodeId node) const { return attached_[node]; }
  // NICs of equal number have to reach each other, others need not.
  void KeepRailsApart() { fabric_.joins_rails_ = false; }
  // Makes Build() fail with `status`, unless it fails already.
  void KeepError(Status status);
  const Status& error() const { return error_; }

  // Errors: kInvalidArgument
  //   no host; a capacity that is not positive and finite; a cable between kinds that are no neighbours
  //   a host or switch name that appears twice (host in two places)
  //   GPUs of several models; a NIC without a cable; a switch with more than kMaxSwitchCables
  //   two NICs that no chain of switches joins, naming both with their hosts
  // A lone host needs no network. Cost: O(nodes + links).
  Result<Fabric> Build() &&;

 private:
  NodeId AddNode(NodeKind kind, uint32_t number, HostId host);
  void AddHostNodes(const HostSpec& spec, HostId host);
  void AddHostCables(const HostSpec& spec, NodeId first);
  void IndexLinks();
  Status IndexNames();
  Status CheckNicsAreCabled() const;
  Status CheckSwitchSizes() const;

  uint64_t max_links_;
  Fabric fabric_;
  IdVector<NodeId, BytesPerSecond> attached_;
  Status error_;
};

}  // namespace fairlead::topology
