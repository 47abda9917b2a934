// What skipping steady states saves and costs in training steps, and which part of the fluid engine's error is in them.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/packet-level/all_cases.h"
#include "experiments/packet-level/twin_case.h"
#include "experiments/packet-level/twin_errors.h"

namespace fairlead::experiments::packet_level {

// One training step of two models like Wormhole's, one GPU a host, paths hashed; and flows that end one after another.
// Messages long enough for rates to settle. Args: as AllCases.
std::vector<CaseFamily> TrainingSteps(uint64_t seed, uint32_t num_draws, bool reduced);

struct SkippedStates {
  double num_messages = 0;
  double saved = 0;            // events without skipping / events with it
  double skipped_share = 0;    // of the payload, %
  TwinErrors of_skipping;      // against every packet
  TwinErrors of_other_marks;   // every packet with other marks of chance, against the same
  TwinErrors of_fluid;         // the fluid engine with the latency of an empty path, against the same
  double of_steady_rates = 0;  // the fluid engine's rates in skipped spans against those measured, mean over bytes, %
};

// One draw. Cost: twice that of every packet.
SkippedStates MeasureSkipping(const TwinCase& twin, uint64_t seed);

// Over the draws of a case.
SkippedStates Merge(const std::vector<SkippedStates>& draws);

}  // namespace fairlead::experiments::packet_level
