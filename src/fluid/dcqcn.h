// DCQCN: what the congestion control of RoCE v2 does where equal flows share a full link: how many packets are marked,
// how many congestion notification packets (CNPs) come back, and which share of the link the saw-tooth of rates leaves
// unused. A fluid simulator with one constant rate per flow sees none of that.
//
// Problem     N long flows alike on a link of capacity C; mean rate of each R = C / N. Which marking probability p
//             holds them there?
// Notation    p -> marking_probability;  tau -> cnp_interval;  tau' -> alpha_timer;  T -> rate_timer;  B ->
//             byte_counter;
//             F -> recovery_rounds;  R_AI -> additive_increase;  rates in packets/s, B in packets
//             a     1 - (1-p)^(tau R)         probability of a cut in one CNP interval
//             alpha 1 - (1-p)^(tau' R)        a cut takes alpha / 2 of the rate
//             b, d  p / ((1-p)^-B - 1), p / ((1-p)^-(T R) - 1)    steps of recovery per packet, by counter and by timer
//             c, e  b (1-p)^(F B), d (1-p)^(F T R)                those of them that also raise the target rate
// Method      1. fixed point of the fluid model: a^2 alpha = tau^2 R_AI R (b + d)(c + e). The left side grows with p,
//             the right side falls: bisection on log p.
//             2. CNPs: a / tau.  3. Mean distance of the rate from its target rate: G = a alpha / (tau (b + d)). Every
//             cut leaves a hole of G tau / a bytes in the traffic. Flows that are cut one by one leave N a / tau such
//             holes a second, flows that are cut together a / tau of N times the size.
//             4. A queue with content q fills the first q bytes of a hole, the rest is lost. q is taken as exponential
//             with the mean that marks p: min_threshold + p / max_marking * (max_threshold - min_threshold).
//             5. The queue that is returned is that mean, but half of max_threshold at most: one that swings beyond
//             the threshold has all its packets marked and falls back.
// Cost        O(1): 64 evaluations of step 1, about 5 us.
// Guarantees  p in [0, 1], efficiencies in (0, 1]; scaling all bytes and rates together changes no ratio; p grows with
//             N.
// Differs     the fluid model takes means of products as products of means; a simulation of the discrete algorithm
//             needs a p that is 4 % greater. Hyper increase is left out: it takes F rounds of the byte counter (50 MB)
//             without a CNP. So is the gain g of alpha (1/256), which the fixed point does not depend on. Swings of
//             the queue around the fixed point are left out too: the efficiency is the fixed point's. Packet by packet
//             (packet/, 40 and 100 Gb/s, 2 to 32 flows, recovery by the timer) the queue is 4 to 25 % longer than told
//             while that is below 0.4 of max_threshold: up to 6 flows at 40 Gb/s, at least 16 at 100. Beyond, from 8 on
//             at 40 Gb/s, it swings past max_threshold: its mean is 0.3 to 0.5 of that, 7 to 16 times as many packets
//             are marked, and 1 to 17 % of the link stay unused instead of 0.1 %.
// Reference   Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section 5 (fluid model);
//             Zhu et al., ECN or Delay, CoNEXT 2016, section 3 (fixed point and its approximation for small p).
// Oracle      the discrete algorithm, stepped through time, in dcqcn_test.cc.
#pragma once

#include "base/status.h"
#include "base/units.h"

namespace fairlead::fluid {

// Defaults are those of the papers, made for links of 40 Gb/s. All must be > 0 and finite, but min_threshold >= 0.
struct DcqcnOptions {
  Bytes packet{1000};
  // A receiver sends at most one CNP per flow and interval. Longer: fewer CNPs and cuts.
  Seconds cnp_interval{50e-6};
  // Time between two updates of alpha. Longer: alpha counts more packets, cuts are deeper.
  Seconds alpha_timer{55e-6};
  // A flow recovers half of what it lost at every tick of the timer and after every `byte_counter` bytes. Longer, more:
  // slower recovery, more of the link lost.
  Seconds rate_timer{55e-6};
  Bytes byte_counter{10e6};
  // Rounds of recovery before the target rate is raised. More: gentler.
  double recovery_rounds = 5;
  // What the target rate is raised by. More: more marks, deeper saw-tooth.
  BytesPerSecond additive_increase{40e6 / 8};
  // Marking at the switch: none up to min_threshold, max_marking (<= 1) at max_threshold (> min_threshold), linear in
  // between, every packet beyond. Higher thresholds: longer queue, fuller link.
  Bytes min_threshold{5e3};
  Bytes max_threshold{200e3};
  double max_marking = 0.01;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

struct DcqcnOperatingPoint {
  double marking_probability = 0;       // of a packet
  double cnps_per_second_per_flow = 0;  // at most 1 / cnp_interval
  Bytes queue;                          // mean, at most half of max_threshold
  // Share of the link's capacity that is used: when flows are cut independently of each other, and when all are cut at
  // the same time.
  double efficiency = 1;
  double synchronized_efficiency = 1;
};

// Args     capacity: of the link, bytes/s, > 0; num_flows: >= 0, that are held back by this link (a mean need not be an
//          integer); options: valid.
// Returns  the fixed point; no marks and full efficiency where at most one flow wants the link, as nothing competes.
DcqcnOperatingPoint SolveDcqcn(double capacity, double num_flows, const DcqcnOptions& options = {});

}  // namespace fairlead::fluid
