// Which runs could slurmctld not launch? Its log says so; its record of the job does not.
//
// Problem     a slurmctld that could not launch a batch script (its credential was revoked: it had forgotten a run of
//             the job, ended that, and started the job within the same second) ends the job with the exit code 1. To
//             whoever asks for the job that is what a script that ends with 1 looks like (22.05.8).
// Method      of the lines about the job the last start, and what follows it: a run that was not launched has a line
//             of its own, "Killing non-startable batch JobId=7: Job credential revoked".
// Limits      lines of the log hold what users write into comments, which may look like that line. Without a start in
//             the part that is read (the log was rotated) nothing is known.
// Thread      any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead::slurm {

// In slurmctld's words; nothing: the log does not say that the last run in it was not launched. Args: log: its end,
// from any byte on. Cost: linear.
std::optional<std::string> WhyNotLaunched(std::string_view log, uint32_t job);

}  // namespace fairlead::slurm
