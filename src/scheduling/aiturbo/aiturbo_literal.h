// AITurbo as published: single-unit changes by remaining service, Borda's count of two ballots, multi-level feedback
// queue.
//
// Method       every round, and at once when a job becomes predictable:
//              1. gains of the ten unit operations, INC and DEC queues (unit_gains.h)
//              2. ballot (a) by attained service, ballot (b) the position in the own gain queue
//              3. score: predictable a + b * (all / own queue); unpredictable 2 a
//              4. predictable jobs adopt their change
//              5. level by attained service; order by (level, score, submission, id); a job runs if all of it fits,
//                 else it is skipped.
//              After arrivals and ends the same without 4.
// Guarantees   a job better on both ballots (same queue) never comes later at the same level.
// Differs      levels compare attained resource time with 1 h and 16 h; the prototype compares the score, accumulated
//              over rounds, with 30 and 180 (option accumulate_score). Only jobs with a changed allocation restart.
//              Defects of the released prototype are not repeated.
// Known        with GPUs only, V grows with every GPU of a job that scales below linear, so jobs shrink towards one
//              GPU. Growth pays where R has a fixed part (pods) or a bottleneck of cores or servers goes. aiturbo.h
//              does better.
// Reference    Zhao et al., AITurbo, HPDC 2021, from its slides; the sense of the sorting is reconstructed.
#pragma once

#include <array>
#include <memory>

#include "base/status.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

struct LiteralOptions {
  // Time between two rounds with changes of resources, seconds. Shorter: grows faster, restarts more.
  double round_s = 240;
  // Service at which a job sinks to the second and third level, resource units x seconds. Lower: favours short jobs.
  std::array<double, 2> level_limits = {3600, 57600};
  // Levels by the score, summed over rounds with changes, as in the prototype; with limits 30 and 180 there.
  bool accumulate_score = false;

  Status Validate() const;
};

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateAiturboLiteral(const LiteralOptions& options = {});

}  // namespace fairlead::scheduling::aiturbo
