// What a job's user says in its comment: about being restarted, in the words of NVIDIA's auto-resume, and about how far
// it has to go, if its size is for Fairlead to choose. And what job_submit.lua made of it, which users can't change.
//
//     sbatch --comment='{"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}}'
//     sbatch --comment='{"fairlead": {"steps": 9000, "progress": "/home/ann/steps", "checkpoint": "/home/ann/latest"}}'
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

// Of an elastic job.
struct ElasticWish {
  std::optional<uint64_t> steps{};  // > 0; nothing: nobody knows how long it takes
  // Absolute path of a file that has the number of steps done; empty: they are counted by the job's communication.
  std::string progress_file = {};
  // Likewise of a file that it writes anew with each checkpoint, also when its batch script gets SIGUSR1; empty: it is
  // stopped without being asked for one.
  std::string checkpoint_file = {};

  friend bool operator==(const ElasticWish&, const ElasticWish&) = default;
};

// A comment that is no JSON object, or has no object "fairlead", wishes nothing. Errors: kInvalidArgument, as above.
Result<ElasticWish> ReadElasticWish(std::string_view comment);

// The admin_comment of an elastic job: "fairlead:v1 nodes=2-8 tasks-per-node=4", with " held" behind it if we hold it.
struct ElasticMark {
  uint32_t nodes_min = 0;  // > 0
  uint32_t nodes_max = 0;  // > nodes_min
  bool is_held = false;

  friend bool operator==(const ElasticMark&, const ElasticMark&) = default;
};

// Nothing: it is not marked so.
std::optional<ElasticMark> ReadElasticMark(std::string_view admin_comment);

// With and without the word that we hold the job; a mark as it has to be. Cost: linear.
inline constexpr char kHeldWord[] = " held";
std::string MarkHeld(std::string_view admin_comment);
std::string MarkReleased(std::string_view admin_comment);

}  // namespace fairlead::slurm
