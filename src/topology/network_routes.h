// The equal-cost ways between two NICs through the network, without ever listing them.
//
// Problem     all shortest paths NIC -> leaf -> … -> leaf -> NIC over healthy links, in numbers: how many, the i-th,
//             the one that hashing takes. Between pods of a large fabric there are thousands per pair, and 10^10 pairs.
// Notation    class -> NICs that the same leaves reach over equally many healthy links. Seen from a switch, all NICs of
//             a class are equally far and have equally many paths, so one table serves them: 784 classes for 100,000
//             NICs on rails.
// Method      a table of a class is one breadth-first search backwards from its leaves over the graph of network
//             switches: distance and number of shortest paths of every switch. The i-th path is unranked from the
//             numbers: at every switch skip whole subtrees, in LinkId order, until the index falls into one.
// Cost        table: O(cables between switches), when first needed. Path: O(switch ports on the way). Tables are kept
//             in an LRU cache of bounded size.
// Differs     transit through NICs and GPUs is impossible by construction: the searched graph has only
//             network switches.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// Thread: fills caches; one per thread.
class NetworkRoutes {
 public:
  // `fabric` and `is_up` [link] must outlive this. At least one table is kept, whatever `cache_bytes`.
  NetworkRoutes(const Fabric& fabric, const std::vector<uint8_t>& is_up, size_t cache_bytes);

  // Forgets what it knew; call it after `is_up` changed. Cost: O(NIC ports + cables between switches).
  void Reset();

  // Number of shortest paths, saturating at 2^64-1; 0 = cut apart. source != destination in all methods.
  uint64_t Count(NicId source, NicId destination);
  // Links of each of them. Count() must not be 0.
  size_t Length(NicId source, NicId destination);
  // Appends path `index` < Count().
  void Append(NicId source, NicId destination, uint64_t index, std::vector<LinkId>* path);
  // Writes all paths in index order to links[Count()][Length()], flattened.
  void WriteAll(NicId source, NicId destination, LinkId* links);
  // Appends the path by hashing at every node; `port` replaces the hash of the source NIC. Returns false, appending
  // nothing, when there is none.
  bool AppendHashed(NicId source, NicId destination, uint64_t tuple_hash, uint64_t seed, std::optional<uint32_t> port,
                    std::vector<LinkId>* path);

  // Tables in the cache now. Cost: O(classes).
  size_t CountTables() const;
  // Most tables that the cache holds.
  size_t max_tables() const { return max_tables_; }

 private:
  static constexpr uint16_t kUnreachable = 0xffff;

  // A cable as its source switch sees it.
  struct SwitchLink {
    LinkId link;
    uint32_t next = 0;  // switch at the other end
    bool is_up = true;  // from here to there
    bool reverse_is_up = true;
  };
  // What a table knows about one switch.
  struct Hop {
    uint64_t num_paths = 0;  // shortest paths from here to a NIC of the class
    uint32_t first = 0;      // the next links are among switch_links_[first, first + width)
    uint16_t width = 0;
    uint16_t distance = kUnreachable;  // links from here to the NIC; 1 at the NIC's own leaves
  };
  // A leaf of a class, and how many healthy links go from it to each NIC of the class.
  struct Attachment {
    uint32_t leaf = 0;
    uint32_t num_links = 0;
  };
  struct Table {
    std::vector<Hop> hops;  // [switch]; empty = not cached
    uint64_t last_use = 0;
  };
  struct FirstHops {
    uint16_t distance = kUnreachable;  // of the nearest leaves of the source
    uint64_t num_paths = 0;
  };

  // Rows of WriteAll that share all links left of `column` and go on at switch `at`.
  struct Block {
    uint32_t at = 0;
    uint32_t column = 0;
    LinkId* begin = nullptr;
  };

  void IndexSwitches();
  void FindClasses();
  const Table& TableTo(NicId destination);
  void EvictOldest();
  void ComputeTable(uint32_t nic_class, Table* table);
  FirstHops FindFirstHops(NicId source, const Table& table) const;

  // Calls f(link, switch) for the healthy links from a NIC to those of its leaves that are `distance` from the
  // destination, in LinkId order, until f returns true.
  template <class Function>
  void ForFirstLinks(NicId source, const Table& table, uint16_t distance, Function f) const;
  // Collects the healthy links that end at a NIC in last_links_, for ForLastLinks.
  void FindLastLinks(NicId destination);
  // Calls f(link) for the last links from the leaf `at`, in LinkId order, until f returns true.
  template <class Function>
  void ForLastLinks(uint32_t at, Function f) const;
  // Calls f(switch link) for the equal-cost next links of a switch, in LinkId order, until f returns true.
  template <class Function>
  void ForNextLinks(const Table& table, const Hop& hop, Function f) const;

  const Fabric* fabric_;
  const std::vector<uint8_t>* is_up_;
  size_t max_tables_ = 1;
  IdVector<NodeId, uint32_t> switch_of_;      // dense numbers of network switches; others unused
  std::vector<NodeId> switches_;              // [switch]
  std::vector<uint32_t> switch_links_first_;  // [switch] .. [switch + 1] into switch_links_
  std::vector<SwitchLink> switch_links_;
  IdVector<NicId, uint32_t> nic_classes_;
  std::vector<std::vector<Attachment>> classes_;         // [class]
  std::vector<Table> tables_;                            // [class]
  size_t num_tables_ = 0;                                // that are cached
  uint64_t clock_ = 0;                                   // counts uses of tables
  std::vector<uint32_t> queue_;                          // scratch of ComputeTable
  std::vector<std::pair<uint32_t, LinkId>> last_links_;  // of the destination: (leaf, link to the NIC), in LinkId order
  std::vector<Block> blocks_;                            // scratch of WriteAll
};

}  // namespace fairlead::topology
