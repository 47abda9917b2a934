// Cost of congestion controls while flows hold each other back: which share of a full link its saw-tooth of rates
// leaves unused, how many notifications (CNPs) reach the senders, and how long the queue is that marks their packets.
//
// Problem     The fluid model shares a full link to its last byte. Under DCQCN (fluid/dcqcn.h) switches mark packets
//             there, and senders that are cut and recover leave a part of it unused. Which links are congested now, and
//             what does each lose?
// Notation    C  capacity of a link without loss;  R  rate of one queue pair in a solution without loss;
//             E(C / R)  efficiency where C / R equal flows share the link
// Method      When flows start or end:
//             1. A link is overloaded where the top rates of its active flows exceed C. Only links that leave a network
//                switch mark: a NIC paces its own queue pairs, NVLink and PCIe have credits.
//             2. A second network of the same flows, with lossless links, gives the rates without loss. An overloaded
//                link holds a flow back where it is full and no other flow of the same level has more of it; flows of
//                other levels don't count, as each level has a queue of its own. A flow that a link without marks (its
//                NIC, its own top rate) holds to the same rate is paced, and fills no queue.
//             3. A queue pair that is held back at rate R loses R (1 - E(C / R)) of the link, and gets the CNPs of one
//                of C / R flows. The link's capacity becomes C less all that is lost there.
//             4. The queue of that level holds what the operating point of C / R flows has in it, and drains at the
//                level's rate: so long every byte waits that is held back there.
// Cost        O(crossings of active flows) and a second incremental solution per change of the active flows.
// Guarantees  Capacities follow from the active flows alone (to 1e-11), not from how they came about: a domain that
//             repeats itself still does. Ends: one pass, as nothing is looked for under loss. A link that isn't
//             overloaded loses nothing, nor does a flow that has a whole link (C / R = 1).
// Differs     R and not the number of flows measures congestion: the same where flows are alike (C / R is their
//             number), right for a level that gets only a part of the link. Flows that are held back elsewhere get no
//             marks, though they are marked by chance in reality. A flow that several links hold back alike loses on
//             each; it gets the CNPs of one and waits at one, the first. The flows of one coupled ring that meet on a
//             link have its share in their top rate, and don't congest it by themselves. Queues are means of a steady
//             state: what piles up when flows begin, and windows shorter than the queue, are left out.
// Reference   fluid/dcqcn.h; Dong et al., C4, HPCA 2025, figure 10 (CNPs of bonded ports).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "fluid/dcqcn.h"
#include "fluid/flow_network.h"
#include "sim/congestion_totals.h"
#include "topology/fabric.h"

namespace fairlead::sim {

// Links that leave a network switch.
IdVector<LinkId, uint8_t> FindMarkingLinks(const topology::Fabric& fabric);

// Where packets are marked, and what that does; one for all domains of a simulation, as points are found once.
class CongestionPoints {
 public:
  // Args: marks [link]; options: valid.
  CongestionPoints(IdVector<LinkId, uint8_t> marks, const fluid::DcqcnOptions& options)
      : marks_(std::move(marks)), options_(options), queues_(marks_.size()) {}

  bool Marks(LinkId link) const { return marks_[link] != 0; }

  // Of a link, while one network existed.
  void AddQueue(LinkId link, const LinkQueue& queue);
  const IdVector<LinkId, LinkQueue>& queues() const { return queues_; }

  // Where queue pairs of this rate fill a link. C / R is rounded to 10 bits (whole numbers up to 1,024 are exact), so
  // that few points are needed. Args: both bytes/s, > 0. The answer stays valid.
  const fluid::DcqcnOperatingPoint& Find(double capacity, double rate);

 private:
  IdVector<LinkId, uint8_t> marks_;
  fluid::DcqcnOptions options_;
  IdVector<LinkId, LinkQueue> queues_;
  std::map<std::pair<double, double>, fluid::DcqcnOperatingPoint> points_;  // (capacity, flows)
};

// The links of one network, and what its jobs have lost there.
class CongestionLoss {
 public:
  // Queue pairs that move alike.
  struct Flow {
    fluid::FlowId id;
    uint32_t job = 0;
    uint32_t level = 0;
    double num_pairs = 1;              // its weight in the network
    double top_rate = 0;               // bytes/s of one pair
    std::vector<fluid::LinkUse> uses;  // each link once
  };

  // Args: `points` and `network` outlive this; capacities of the network are those without loss. marks: [link of the
  // network]. flows: all of the network. No flow may be active.
  CongestionLoss(CongestionPoints* points, fluid::FlowNetwork* network, std::span<const uint8_t> marks,
                 std::vector<Flow> flows, size_t num_jobs);

  // To be called when flows have started or ended, before the network's clock moves on. `now_ns` must not go back.
  void Update(int64_t now_ns);
  // Adds to the totals what has come up to now.
  void CountUntil(int64_t now_ns);

  CongestionCounts& totals() { return totals_; }
  const CongestionCounts& totals() const { return totals_; }
  // Bytes, the most that was in the queues of the link at once.
  double most_queued(uint32_t link) const { return most_queued_[link]; }

 private:
  struct Link {
    double capacity = 0;  // without loss
    bool marks = false;
    // Of the active flows, where they touch the link.
    bool is_touched = false;
    double demand = 0;
    double used = 0;        // by the levels so far
    double level_rate = 0;  // of that, by the level under way
    double top_share = 0;   // most that a queue pair of the level under way has
    double lost = 0;
    const fluid::DcqcnOperatingPoint* point = nullptr;  // of the level under way, once requested
    bool has_queue = false;                             // of that level: it is the first that holds a flow back
  };

  bool FindActive();
  void FollowActive();
  bool AddUpDemand();
  void SetCapacities();
  void HoldBackLevel(std::span<const uint32_t> flows);
  void HoldBack(const Flow& flow, double share);
  bool IsPaced(const Flow& flow, double share) const;
  static bool Holds(const Link& link, double share);

  CongestionPoints* points_;
  fluid::FlowNetwork* network_;
  fluid::FlowNetwork lossless_;  // the same flows, in the order of flows_; its clock is stopped
  std::vector<Link> links_;
  std::vector<Flow> flows_;  // by level
  std::vector<uint32_t> active_, active_before_;
  std::vector<uint32_t> touched_;  // links of active flows
  std::vector<double> shares_;     // of the level under way
  std::vector<uint32_t> reduced_;  // links with less capacity than without loss
  CongestionCounts rates_;         // per second
  CongestionCounts totals_;
  std::vector<double> most_queued_;  // [link]
  int64_t counted_until_ns_ = 0;
};

}  // namespace fairlead::sim
