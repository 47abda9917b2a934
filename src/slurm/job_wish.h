// What a job's user says in its comment about being restarted, in the words of NVIDIA's auto-resume.
//
//     sbatch --comment='{"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}}'
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::slurm {

struct JobWish {
  bool may_requeue = true;                 // by mode
  std::optional<uint32_t> max_requeues{};  // nothing: it does not say

  friend bool operator==(const JobWish&, const JobWish&) = default;
};

// A comment that is no JSON object, or has no "APS", wishes nothing. Modes: "requeue"; "none", "off", "disabled": not.
// Errors: kInvalidArgument: an object that is not as above: what was expected, what was found, printable. Then nothing
// is known of the wish. Cost: linear; nesting is limited.
Result<JobWish> ReadJobWish(std::string_view comment);

// Why a job with this wish is not to be restarted once more; empty: it may be.
std::string WhyNotRequeue(const JobWish& wish, uint32_t num_restarts);

}  // namespace fairlead::slurm
