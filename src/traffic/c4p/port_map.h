// Port map: what scans have taught about which source port takes which path, and which ports are taken.
//
// Problem     the path of a connection follows from a hash of its five-tuple, so each pair of addresses has its own
//             table from source port to path, learnt port by port. A change at the leaf makes all its tables void; if
//             its next hops later are what they were, the old tables hold again.
// Notation    epoch -> changes of a leaf so far;  fingerprint -> hash of what the leaf's hash depends on
// Method      a pair has one table per fingerprint it was probed under, a few of them. The table of the leaf's present
//             fingerprint answers: what was seen in this epoch is confirmed; what is older was revived by a return of
//             the fingerprint and has to be confirmed by one probe of that very port. A probe that refutes a revived
//             port takes all revived ports of the table with it: the fingerprint did not tell everything.
// Cost        AdvanceEpoch O(log leaves); Record O(log pairs + s log ports of the table) for s ports that are beyond
//             those known, O(ports of the table) for each other one; the others O(log pairs + ports of a table), but
//             PortsToScan, and FindPort where it says "scan", pass over known ports: O(16384 log) at worst. Memory:
//             max_pairs * max_tables_per_pair * max_ports_per_table * 24 bytes and what vectors add at most, beside
//             pairs that hold reserved ports.
// Guarantees  no answer from an older epoch unless the fingerprint is the same, and then only as "confirm". No port is
//             reserved twice for the same two addresses and protocol, and none that a socket has is offered. A pair
//             with such ports is never evicted.
// Differs     the paper does not say how ports are found. Refutation and the bounds are ours.
// Limits      paths also depend on the hashes of switches behind the leaf: advance every leaf whose next hops to any
//             destination changed, and mix what else may differ into the fingerprint.
// Reference   docs/spec/c4.md sections 9.2, 9.3 and 9.5.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "traffic/c4p/leaf_epochs.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {

// Whose ports are meant. Addresses are those of NICs, in any numbering; a bonded NIC has one address on all of its
// planes. The leaf is the one the source's port on the plane is on.
struct AddressPair {
  uint32_t source_address = 0;
  uint32_t destination_address = 0;
  uint8_t protocol = 17;
  uint16_t destination_port = 4791;
  NodeId source_leaf;
  // Where epochs are counted for each destination leaf; else invalid.
  NodeId destination_leaf = NodeId();
  uint32_t plane = 0;

  HashDomain domain() const { return {source_leaf, destination_leaf}; }
  friend auto operator<=>(const AddressPair&, const AddressPair&) = default;
};

struct PortMapOptions {
  uint32_t max_pairs = 20'000;       // >= 1. Fewer: less memory, and pairs not used for long are scanned again.
  uint32_t max_tables_per_pair = 3;  // >= 1; 1 = nothing is ever revived. More: flaps of several links are remembered.
  uint32_t max_ports_per_table = 512;  // >= 1. Fewer: less choice of ports for a path.

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// Where a port led.
struct SeenPort {
  uint16_t port = 0;
  uint32_t path = 0;
};

struct PortCandidate {
  uint16_t port = 0;
  bool is_confirmed = false;  // seen in this epoch
  SimTime probed_at;

  friend bool operator==(const PortCandidate&, const PortCandidate&) = default;
};

// What to do to get onto a path.
struct PortAnswer {
  enum class Kind : uint8_t {
    kUse,        // `port` leads there and is free
    kConfirm,    // `port` led there under the same fingerprint: probe it once, record what it shows, ask again
    kScan,       // probe `num_ports` of PortsToScan: on average one of them leads there
    kExhausted,  // every port is known or reserved, and none that is free leads there
  };
  Kind kind = Kind::kScan;
  uint16_t port = 0;
  uint32_t num_ports = 0;
};

class PortMap {
 public:
  // Args: options valid.
  explicit PortMap(PortMapOptions options);

  // Any change of a leaf's next hops or hash. Returns the new epoch, which answers of older ones don't reach.
  uint64_t AdvanceEpoch(HashDomain domain, uint64_t fingerprint) { return leaves_.Advance(domain, fingerprint).epoch; }
  // The same, for a caller that counts on its own. Args: epoch > EpochOf(domain).
  void SetEpoch(HashDomain domain, uint64_t epoch, uint64_t fingerprint) { leaves_.Set(domain, epoch, fingerprint); }
  uint64_t EpochOf(HashDomain domain) const { return leaves_.Find(domain).epoch; }  // 0 before the first change

  // What probes sent in `epoch` showed. Where two disagree within an epoch the newer one counts, the last one of these,
  // and the pair is unstable. Evidence of another epoch, or older than the knowledge about the port, is ignored and
  // counted. Errors: kInvalidArgument for a port outside of the range; nothing is recorded then.
  Status Record(const AddressPair& key, std::span<const SeenPort> seen, uint64_t epoch, SimTime probed_at);

  // Forgets where free ports lead: what is known of the others stays.
  void Forget(const AddressPair& key);

  // Where a port leads, reserved or not; nothing when this epoch has not seen it.
  std::optional<uint32_t> PathOf(const AddressPair& key, uint16_t port) const;
  // Free ports of a range that lead to a path: confirmed ones first, then ascending.
  std::vector<PortCandidate> Candidates(const AddressPair& key, uint32_t path, PortRange range = {}) const;
  // The best of them, or how many ports to scan. Args: num_paths = equal-cost paths of the pair.
  PortAnswer FindPort(const AddressPair& key, uint32_t path, uint32_t num_paths, PortRange range = {}) const;
  // Up to `count` free ports of a range of which this epoch knows nothing yet, unknown ones before revived ones. They
  // follow the ports recorded last around the ring of ports, so that scans get everywhere, however few ports a table
  // holds; the first scan of a pair begins where its hash says, so that pairs don't all learn the same ports.
  std::vector<uint16_t> PortsToScan(const AddressPair& key, uint32_t count, PortRange range = {}) const;

  // Takes a port for a live connection; it need not be known. Errors: kInvalidArgument for a port outside of the range,
  // kAlreadyExists for one that is taken between the same addresses by the same protocol, kNotFound when releasing a
  // port that is not in use.
  Status Reserve(const AddressPair& key, uint16_t port);
  Status Release(const AddressPair& key, uint16_t port);
  bool IsReserved(const AddressPair& key, uint16_t port) const;
  // A socket has the port, or packets on the wire carry it or may still arrive: no other packets may. Counted: it is
  // offered to others after as many Vacate() only. Args: Vacate: of a port that is occupied.
  void Occupy(const AddressPair& key, uint16_t port);
  void Vacate(const AddressPair& key, uint16_t port);

  size_t num_reserved() const { return num_reserved_; }  // ports, of all pairs

  // Two probes of one port disagreed in this epoch: something hashes by more than the five-tuple.
  bool IsUnstable(const AddressPair& key) const;

  size_t num_pairs() const { return pairs_.size(); }
  uint64_t num_stale() const { return num_stale_; }          // evidence of another epoch
  uint64_t num_late() const { return num_late_; }            // evidence older than known
  uint64_t num_conflicts() const { return num_conflicts_; }  // within an epoch
  uint64_t num_refuted() const { return num_refuted_; }      // tables whose revival a probe refuted

 private:
  struct Fact {
    uint16_t port = 0;
    uint32_t path = 0;
    uint64_t epoch = 0;
    SimTime probed_at;
  };
  // What was seen under one fingerprint.
  struct Table {
    uint64_t fingerprint = 0;
    std::vector<Fact> facts;  // ascending by port
  };
  struct Pair {
    std::vector<Table> tables;            // the one recorded last is the last one
    std::vector<uint16_t> reserved;       // ascending
    std::vector<uint16_t> occupied;       // ascending; one entry for each socket
    std::optional<uint16_t> last_port;    // of those recorded last, the furthest from where scans would have gone on
    std::optional<uint64_t> unstable_in;  // epoch of the last conflict
    uint64_t last_used = 0;               // key in by_use_
  };
  using Pairs = std::map<AddressPair, Pair>;

  static uint64_t ScanStart(const AddressPair& key, const Pair* pair);
  Pair* Touch(const AddressPair& key);
  void EvictOldPairs();
  const Table* TableOf(const AddressPair& key, uint64_t fingerprint) const;
  Table* MakeTable(Pair* pair, uint64_t fingerprint) const;
  void Weigh(Fact* known, const Fact& seen, Pair* pair, Table* table);
  void DropOldestFact(const Pair& pair, Table* table) const;
  std::pair<Pairs::const_iterator, Pairs::const_iterator> SharingPorts(const AddressPair& key) const;
  std::vector<uint16_t> TakenPorts(const AddressPair& key) const;

  PortMapOptions options_;
  LeafEpochs leaves_;
  Pairs pairs_;
  std::map<uint64_t, AddressPair> by_use_;  // pairs with unused ports, least recently used first
  uint64_t num_uses_ = 0;
  size_t num_reserved_ = 0;
  uint64_t num_stale_ = 0;
  uint64_t num_late_ = 0;
  uint64_t num_conflicts_ = 0;
  uint64_t num_refuted_ = 0;
};

}  // namespace fairlead::traffic::c4p
