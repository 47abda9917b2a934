// How large jobs should be, given how many wait: the more wait, the smaller and thus the more efficient.
//
// Problem     one more GPU ends a job sooner, but takes GPU-seconds, as no job scales perfectly; waiting jobs pay for
//             them. A fixed least efficiency (a knee) is too wasteful for a crowded cluster and too thrifty for an
//             empty one.
// Notation    T(k), R(k) -> time of an iteration at, and resources of, choice k of the job's menu; r -> remaining
//             iterations; Q -> jobs that wait; f -> price_factor; share(R) -> part of the cluster that R is: of its
//             GPUs times a plus of its cores times 1 - a.
// Method      a job that holds a share s of the cluster for a time t makes each of the Q jobs that wait lose s t, as
//             all of them together get the cluster's resources that much later. Its own delay and theirs sum up to
//             (r T(k) + c) (1 + Q share(R(k))): each job takes the choice where that is least. Without c, r would not
//             matter; a job that takes ten restarts is to start on fewer GPUs than a long one, as they all wait for it
//             to start. Smaller choices leave fewer jobs waiting, so Q is found by bisection: the smallest one that is
//             at least the number of jobs left over when all take their choice for it, shortest remaining service
//             first.
//             a likewise: the scarcer resource bears the price; a is raised until GPUs and cores are asked for alike.
//             f stands for jobs that will come while those of today still run, and then wait, too.
// Cost        O(jobs (choices + log jobs) log jobs), of which each step of the bisection leaves fewer choices; with
//             configurations eight times that.
// Guarantees  no job waits, and none runs: every job takes its fastest choice. Larger Q, smaller shares. A job of which
//             nothing is known, not even by a guess (length_guess.h), keeps what it has, and c is left out where it
//             waits.
// Oracle      congestion_price_test: all choices at each step.
// Reference   our own design. The known optimum for jobs of speed k^p (Berg et al., heSRPT, 2020) has the same form:
//             the more jobs, the less for each of the long ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduling/aiturbo/job_menu.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

// What one unit of the cluster's resources costs.
struct CongestionPrice {
  double num_waiting = 0;  // Q f
  double gpu_part = 1;     // a

  // 1 + Q share(R).
  double Of(const Resources& resources, const Resources& total) const;
};

// The choice of least (T(k) + c / r) (1 + Q share(R(k))); the requested one where no time is known. Args: change_s:
// c / r of other choices than the one in force, s, >= 0.
uint32_t ChooseSize(const JobMenu& menu, const CongestionPrice& price, const Resources& total, double change_s = 0);

// Returns [snapshot.jobs] the choice of each job. Args: price_factor >= 0.
std::vector<uint32_t> PriceSizes(const AllocationSnapshot& snapshot, std::span<const JobMenu> menus,
                                 double price_factor);

}  // namespace fairlead::scheduling::aiturbo
