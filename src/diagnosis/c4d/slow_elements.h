// Which parts of the network explain that some transfers are slow and others are not?
//
// Problem     every transfer passes a connection, the transmit side of a NIC and the receive side of another, two
//             hosts, one or two leaf switches and a plane. Given which transfers are slow and which are healthy, name
//             the fewest and smallest elements that account for the slow ones.
// Notation    hits, misses: slow transfers not yet explained, and healthy transfers, that pass an element
// Method      greedy cover: the element with the greatest 2 hits - 3 misses takes its slow transfers; repeat until none
//             is left. The weights ask for hits / (hits + misses) > 60 %. Among equals the smallest kind of element
//             wins, so an element is named only if it explains more than each of its parts: a NIC side is named only
//             with slow transfers to two peers, a host only with two NICs. If several of a kind explain the same
//             transfers, none of them is named, but the next larger kind, or else the connection: in a ring, where a
//             transfer is the only one of both its ends, which end is at fault stays open. Of a leaf with several
//             hosts and a host under it, the leaf: it's a common part of what the host's NICs would have to suffer all
//             at once.
// Cost        O(transfers) per element named.
// Guarantees  every slow transfer is explained by exactly one element; relabelling relabels.
// Reference   docs/spec/c4.md sections 5.2 (steps 5, 6) and 5.3.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/finding.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

enum class TransferHealth : uint8_t {
  kHealthy,
  kUnclear,  // speaks neither for nor against an element
  kSlow,
};

// All traffic between two ranks on one plane.
struct Transfer {
  model::RankId source;
  model::RankId destination;
  uint32_t plane = 0;
  TransferHealth health = TransferHealth::kUnclear;
};

struct SlowElement {
  model::Culprit culprit;
  std::vector<uint32_t> transfers;  // slow ones that it explains, ascending
  uint32_t hits = 0;
  uint32_t misses = 0;
};

// What can be at fault in the network of a job. Does not change while it runs.
class NetworkElements {
 public:
  explicit NetworkElements(const model::JobLayout& layout);

  // Args: transfers, ascending by (source, destination, plane).
  // Returns: in the order found, which is that of how much they explain.
  std::vector<SlowElement> Explain(std::span<const Transfer> transfers) const;

 private:
  // Kinds of elements in the order of size; an element is numbered by kind, then by what it is.
  enum Kind : uint8_t { kConnection, kNicSend, kNicReceive, kNic, kHost, kLeaf, kPlane, kNumKinds };
  struct Element {
    Kind kind = kConnection;
    uint32_t index = 0;

    friend auto operator<=>(const Element&, const Element&) = default;
  };
  static constexpr size_t kElementsMax = 10;
  struct Elements {
    std::array<Element, kElementsMax> items;
    size_t size = 0;

    void Add(Kind kind, uint32_t index);
    bool Has(Element element) const;
  };
  struct Tally {
    uint32_t hits = 0;
    uint32_t misses = 0;

    int64_t score() const { return 2 * int64_t{hits} - 3 * int64_t{misses}; }
  };
  using Tallies = std::array<std::vector<Tally>, kNumKinds>;

  uint32_t LeafOf(model::RankId rank, uint32_t plane) const;  // dense; kNone: unknown
  Elements ElementsOf(const Transfer& transfer, uint32_t pair) const;
  // Of those with the best score, one that is better than all others of its kind.
  Element FindBest(const Tallies& tallies, std::span<const Elements> slow) const;
  // Elements on all slow transfers that `element` is on, with its score.
  std::vector<Element> FindEquals(const Tallies& tallies, std::span<const Elements> slow, Element element) const;
  // In which order equals are named.
  int Preference(Element element) const;
  model::Culprit CulpritOf(Element element, const Transfer& example) const;

  const model::JobLayout& layout_;
  // [rank] dense numbers of its NIC and host; ranks of unknown NICs have one each.
  std::vector<uint32_t> nic_of_;
  std::vector<uint32_t> host_of_;
  std::vector<std::vector<uint32_t>> leaves_of_;  // [rank][plane]
  std::vector<bool> has_several_hosts_;           // [leaf]
  std::array<uint32_t, kNumKinds> num_elements_ = {};
};

}  // namespace fairlead::diagnosis::c4d
