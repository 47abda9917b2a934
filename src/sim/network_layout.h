// The fluid network that a contention domain needs: which transfers move as one, over which links.
//
// Problem     Every variable and link of the fluid network costs time at each event, and most of what the jobs use
//             makes no difference to their rates.
// Method      1. Transfers of one phase that cross the same contended links with the same bytes and top rate are one
//                variable, as wide as all of them.
//             2. Only contended links are local links (link_sharing.h), and for each variable that these would let go
//                faster than its top rate one link of its own; those that are told their rate have one in any case.
//             3. Links of equal capacity that all variables use alike bound them alike: one of each kind is enough.
//                Sprayed flows make many of them, such as the uplinks of a leaf.
//             4. Variables that the network can't tell apart are one, and so are links (fluid/equitable_partition.h):
//                all-to-all on even paths is a handful of variables. Not where jobs choose paths or are told rates.
// Cost        O(hops of all transfers * log).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "fluid/flow_table.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"

namespace fairlead::sim {

// Transfers that move as one fluid flow.
struct FluidVariable {
  uint32_t job = 0;
  uint32_t phase = 0;
  fluid::FlowId flow{};                  // of the network; its index is the variable's place
  double bytes = 0;                      // of each transfer
  double top_rate = 0;                   // of each transfer
  std::vector<uint32_t> transfers = {};  // ascending
  uint32_t parts = 1;                    // TransferRoute::parts
  // It stands for so many variables, itself included, that are always at the same rate with the same bytes left.
  uint32_t num_alike = 1;
  // The fluid flow is that many times as fast, wide and heavy as one transfer: their number, or what of it each of the
  // parts is that multiplicities count; of one of those that are alike.
  double width = 1;
  LinkId tightest = {};        // of its own links: its bound without other jobs; invalid: it has no path
  double tightest_health = 1;  // remaining share of that link's capacity, 0..1
  double arrives = 1;          // TransferRoute::arrives

  // Its rate counts what arrives, but senders share links by what they send.
  double weight() const { return width * arrives; }
};

struct LinkUser {
  uint32_t variable = 0;
  uint32_t multiplicity = 0;  // of all variables that it stands for
};

struct LocalLink {
  LinkId link;          // invalid: the own link of one variable; of several that are alike, the first
  double capacity = 0;  // bytes/s
  std::vector<LinkUser> users = {};
};

struct NetworkLayout {
  std::vector<FluidVariable> variables;               // by job, then by phase
  std::vector<std::vector<uint32_t>> first_variable;  // [job][phase], one more at the end
  std::vector<LocalLink> links;                       // [local link]
  std::vector<std::vector<fluid::LinkUse>> uses;      // [variable] each local link once; its own is the last
  bool are_paced = false;                             // one of the jobs
};

// Args: routes: [job][transfer]. capacities: [link] bytes/s. healthy_capacities: the same when nothing is broken; null:
// nobody asks for tightest_health. aggregates: step 4.
NetworkLayout ComputeNetworkLayout(std::span<const JobState* const> jobs,
                                   std::span<const std::vector<TransferRoute>* const> routes,
                                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities,
                                   const IdVector<LinkId, double>* healthy_capacities, bool aggregates);

}  // namespace fairlead::sim
