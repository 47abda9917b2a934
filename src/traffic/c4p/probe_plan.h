// Probe plan: the probes of the next round.
//
// Problem     every path between leaves has to be seen again and again, without all pairs of hosts, within a budget,
//             and soon after a change.
// Method      per plane a full mesh between the leaves that have hosts, both directions, as each hashes on its own. A
//             round gives each leaf one NIC port; the ports of a leaf take turns in an order that is drawn again after
//             each full turn. A pair tries as many source ports as show all its paths with probability 1 -
//             miss_probability. The rest beyond the budget continues in the next round, where the last one ended. Pairs
//             of changed leaves come first, on at most `urgent_share` of the budget while the mesh wants its own.
// Cost        a round: O(pairs visited). Memory: O(ports + urgent pairs of the round); pairs are handed out one
//             by one, and those of the mesh are never listed.
// Guarantees  no pair twice in a round. The probes of a round stay within the budget, but for the first urgent and the
//             first other pair, which always go. Between two visits of the mesh to a pair every other pair is visited
//             once, whatever is urgent. Once a leaf is reported no more, all its pairs have an urgent turn. Any n
//             rounds from a multiple of n on give each of a leaf's n ports one turn, where all can probe. Never both
//             ends on one host: that traffic would not cross the fabric.
// Differs     the paper says "random hosts"; turns see every host within as many rounds as a leaf has ports.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 9.2 and 9.4 (planes).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "topology/fabric.h"
#include "traffic/c4p/leaf_mesh.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

// The present state that the plan needs, queried pair by pair.
struct ProbeView {
  // Equal-cost paths from leaf to leaf within their plane; a pair with 0 is left out. Not empty.
  std::function<uint32_t(NodeId from_leaf, NodeId to_leaf)> num_paths;
  // Whether port `plane` of a NIC is up and its host takes part. Empty: all do.
  std::function<bool(NicId nic, uint32_t plane)> can_probe;
};

struct ProbePlanOptions {
  uint64_t seed = 0;
  // That a pair's ports leave a path unseen. In (0, 1). Smaller: more probes, by k for each factor of e.
  double miss_probability = 0.01;
  // >= 1. Smaller: pairs of many paths see some of them only in later rounds, when they try other ports.
  uint32_t max_ports_per_pair = 1024;
  // Budget: source ports of all pairs of a round. >= 1. Smaller: the mesh takes more rounds.
  uint64_t max_probes_per_round = 1'000'000;
  // Of the budget, for pairs of changed leaves. In (0, 1]. Larger: changes are completed sooner, and the mesh waits; at
  // 1 it advances by one pair a round while leaves keep changing.
  double urgent_share = 0.75;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

struct ProbeRound {
  uint64_t num_pairs = 0;
  uint64_t num_urgent_pairs = 0;  // of them
  uint64_t num_probes = 0;        // source ports in all
};

class ProbePlan {
 public:
  // `fabric` must outlive this. Args: options valid.
  ProbePlan(const topology::Fabric& fabric, ProbePlanOptions options);

  // Ordered pairs of the full mesh: of leaves that have ports on the same plane and that cables join.
  uint64_t num_pairs() const { return num_pairs_; }
  // Changed leaves with pairs still to probe.
  size_t num_urgent_leaves() const { return urgent_.size(); }

  // After any change of the leaf's next hops or hash: all pairs from and to it go first. A leaf that is reported again
  // starts over, with what it had done by then behind the others. Returns false for a node in no mesh.
  bool ReprobeLeaf(NodeId leaf);
  // After a link went down or came back: the leaves at its ends, or below them for a link to a core. Returns false when
  // there are none, or no such link.
  bool ReprobeAround(LinkId link);

  // Hands the pairs of the next round to `visit`, urgent ones first.
  ProbeRound NextRound(const ProbeView& view, const std::function<void(const ProbePair&)>& visit);

 private:
  // Whether the pairs of a leaf go first.
  enum class Urgency : uint8_t {
    kNone,
    kFresh,     // in urgent_, all of its pairs ahead
    kUnderWay,  // in urgent_, some of its pairs behind
  };
  // A mesh and what is going on in it.
  struct Mesh {
    LeafMesh pairs;
    uint64_t first_pair = 0;       // number of its first pair among those of all meshes
    std::vector<Urgency> urgency;  // [leaf]
  };
  // A member of a mesh with precedence for its pairs. Its 2 (n - 1) pairs form a ring.
  struct Urgent {
    uint32_t mesh = 0;
    uint32_t member = 0;
    uint64_t next = 0;       // place on the ring
    uint64_t remaining = 0;  // pairs from there on
    uint64_t again = 0;      // pairs after them that were through when the leaf was reported again
  };
  // One call of NextRound.
  struct Round;

  static MeshEnds UrgentEnds(const Mesh& mesh, const Urgent& urgent);
  void MarkUrgent(uint32_t mesh, uint32_t member);
  void FinishFront();
  void PlanUrgent(Round* round);
  void PlanMesh(Round* round);
  bool TryPair(const Mesh& mesh, MeshEnds ends, uint64_t budget, uint64_t used, Round* round);
  NicId DrawNic(const LeafMesh& mesh, uint32_t member, HostId not_on, const ProbeView& view) const;
  uint32_t NumPortsFor(uint32_t num_paths) const;

  const topology::Fabric* fabric_;
  ProbePlanOptions options_;
  std::vector<Mesh> meshes_;  // by plane, then least leaf
  uint64_t num_pairs_ = 0;
  std::deque<Urgent> urgent_;  // the front is under way
  uint32_t cursor_mesh_ = 0;
  uint64_t cursor_pair_ = 0;  // within it
  uint64_t num_rounds_ = 0;
};

}  // namespace fairlead::traffic::c4p
