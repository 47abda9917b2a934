// Which source port leads a queue pair onto its path, and which ports to try when none is known.
//
// Problem     two things count changes: the catalogue, which knows what fails, and the port map, which must forget what
//             was learnt before. A change at leaf d concerns all tables of d, and of the other leaves only those for d.
// Method      one count for both. The epoch of an ordered pair of leaves is the catalogue's, plus a base that is larger
//             than any epoch of an earlier master. The port map counts per pair of leaves too (HashDomain), and is
//             brought up to date when a pair is looked at: a change of the fabric costs nothing here. Its fingerprint
//             is that of the links of the paths that are usable, so a pair with returning links has its old tables
//             back, to be confirmed, and a pair with unaffected paths keeps them on the same terms.
// Cost        O(paths of the pair) after a change and for each route of a scan, else that of the port map.
// Guarantees  a port is held by one queue pair at a time, for two addresses and a protocol, on whatever plane: bonded
//             NICs have one address, and the port of the NIC follows from the hash, too.
// Reference   docs/spec/c4.md sections 9.2, 9.3 and 9.5.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traffic/c4p/path_catalogue.h"
#include "traffic/c4p/port_map.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class PortSteering {
 public:
  // `catalogue` must outlive this. Args: epoch_base >= 1; hash_configuration: what else the switches' hashes depend on.
  PortSteering(PathCatalogue* catalogue, const PortMapOptions& options, uint64_t epoch_base,
               uint64_t hash_configuration);

  // Args: NICs that have a port `plane`.
  AddressPair PairOf(NicId source, NicId destination, uint32_t plane, uint8_t protocol,
                     uint16_t destination_port) const;
  AddressPair PairOf(const ConnectionRequest& connection, uint32_t plane) const;
  AddressPair PairOf(const PortScanSeen& scan) const;
  uint64_t EpochOf(NodeId from_leaf, NodeId to_leaf) const {
    return epoch_base_ + catalogue_->Epoch(from_leaf, to_leaf);
  }
  uint64_t EpochOf(const ConnectionRequest& connection, uint32_t plane) const {
    return EpochOf(catalogue_->ports(connection.source)[plane].leaf,
                   catalogue_->ports(connection.destination)[plane].leaf);
  }

  struct Step {
    enum class Kind : uint8_t {
      kUse,        // hold ports[0]; it is free, or `own_port`
      kProbe,      // these ports in particular
      kScan,       // any ports of the pair; these are next
      kExhausted,  // none is left
    };
    Kind kind = Kind::kExhausted;
    std::vector<uint16_t> ports;
  };
  // What to do to get onto `path`. Args: own_port, which the queue pair holds and which led there once; socket_port,
  // that of its socket, for which nothing has to be rewritten; 0 = none; is_open: packets have to be rewritten for any
  // other port (source_ports.h).
  Step FindStep(const AddressPair& pair, uint32_t path, uint16_t own_port, uint16_t socket_port = 0,
                bool is_open = false);

  // Errors: those of PortMap.
  Status Hold(const AddressPair& pair, uint16_t port) { return map_.Reserve(pair, port); }
  Status LetGo(const AddressPair& pair, uint16_t port) { return map_.Release(pair, port); }
  // A socket or packets on the wire have the port, or no longer.
  void Occupy(const AddressPair& pair, uint16_t port) { map_.Occupy(pair, port); }
  void Vacate(const AddressPair& pair, uint16_t port) { map_.Vacate(pair, port); }

  // Learns where the ports of a scan lead. Where it was not seen, a port counts as leading to no path of the catalogue,
  // so that scans continue. Errors: kInvalidArgument for a NIC, plane or port that there is not; nothing is learned
  // then.
  Status Learn(const PortScanSeen& scan, SimTime now);
  // The route of an unseen port, where this epoch knows it; else empty.
  std::vector<LinkId> KnownRoute(const PortScanSeen& scan, uint16_t port);
  // Forgets where ports that nothing uses led.
  void Forget(const AddressPair& pair) { map_.Forget(pair); }
  // Nothing when this epoch has not seen it.
  std::optional<uint32_t> PathOf(const AddressPair& pair, uint16_t port) const { return map_.PathOf(pair, port); }

  const PortMap& map() const { return map_; }

 private:
  static constexpr uint32_t kNoPath = ~uint32_t{0};

  Status Check(const PortScanSeen& scan) const;
  // Brings the epoch of the pair up to date.
  void Update(const AddressPair& pair);
  uint64_t FingerprintOf(const AddressPair& pair);
  // One of its NICs has several ports, so a source port may lead over another plane.
  bool IsBonded(const AddressPair& pair) const;
  // kNoPath where the route is none of these, or on another plane.
  uint32_t PathSeen(const PortScanSeen& scan, const LeafPaths& paths, std::span<const LinkId> route) const;

  PathCatalogue* catalogue_;
  PortMap map_;
  uint64_t epoch_base_;
  uint64_t hash_configuration_;
};

}  // namespace fairlead::traffic::c4p
