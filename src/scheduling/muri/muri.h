// Muri: a stand-in for schedulers that interleave jobs by the resource they use.
//
// Represents  Muri (SIGCOMM 2022), which groups jobs whose stages need different resources (storage, CPU, GPU, network)
//             and runs each group on the same GPUs, in turns, so that one computes while another communicates.
// Left out    time-multiplexing of GPUs: here every GPU has one job, as in Crux's evaluation setting. What remains is
//             the choice of neighbours: jobs that want the network most of the time are kept apart. Resources other
//             than the network; matching of queued jobs (they come one by one).
// Problem     leaf groups l with room for k_l hosts of the job and network load L_l: the sum of network_share of the
//             jobs that already cross l. The job asks for n hosts and has share s. Choose leaf groups with sum k_l >= n
//             so that the sum of c_l = max(0, L_l + s - 1) is least, then hosts by locality.
// Method      1. all groups with c_l = 0 cost nothing. Where they hold the job, locality decides among them
//                (TakeNearHosts).
//             2. else they are all taken, and the rest is a minimum knapsack: groups by c_l / k_l, those that do not
//                yet finish the job are kept, each that does makes one candidate solution; the cheapest wins.
//             3. the hosts are the nearest of the groups chosen.
//             Jobs inside one host do not cross a leaf: they have no load, and go where locality puts them. An unknown
//             share (0) is no load.
// Cost        O(hosts log hosts + GPUs of running jobs + groups^2).
// Guarantees  cost 0 where cost 0 is possible, else at most twice the least (Csirik et al. 1991). A pure function;
//             ties break on the lowest group and host id.
// Reference   Zhao et al., Multi-resource interleaving for deep learning training, SIGCOMM 2022.
#pragma once

#include <memory>

#include "scheduling/placement_policy.h"

namespace fairlead::scheduling::muri {

std::unique_ptr<PlacementPolicy> CreateMuri();

}  // namespace fairlead::scheduling::muri
