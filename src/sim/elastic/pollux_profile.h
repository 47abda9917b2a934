// Reads the data of the Pollux benchmark (OSDI 2021): measured profiles of six applications, and workloads.
//
// Folder of an application   placements.csv, scalability.csv, validation-<batch>.csv
// Workload                   CSV: name, time (s), application, num_replicas, batch_size
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/elastic/application_profile.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

// Args: folder that holds the application's files; its last part is the application's name. The six of the benchmark
// have its limits of batches and epochs; others those that their tables show: batches that were validated, local
// batches that were measured, epochs that every validation has. gpu_type: reads placements-TYPE.csv and
// scalability-TYPE.csv, as Sia's artifact names them; empty: without -TYPE. Errors: kNotFound for a missing file,
// kInvalidArgument with file:line.
Result<ApplicationProfile> LoadPolluxProfile(const std::string& folder, std::string_view gpu_type = "");

// Of every application in `folder`, or in its folder `traces`, by name. Args: only: applications to read; empty: all.
Result<ProfileSet> LoadPolluxProfiles(const std::string& folder, std::string_view gpu_type = "",
                                      const std::set<std::string>& only = {});

// The applications that a workload has jobs of.
Result<std::set<std::string>> ListPolluxApplications(const std::string& path);

// Errors: kNotFound; kInvalidArgument with file:line for an application without a profile or a number that is none.
Result<std::vector<ElasticJobSpec>> LoadPolluxWorkload(const std::string& path, const ProfileSet& profiles);

// On several types of GPU. Args: profiles [gpu type], of which each application needs at least one.
Result<std::vector<ElasticJobSpec>> LoadPolluxWorkload(const std::string& path, std::span<const ProfileSet> profiles);

}  // namespace fairlead::sim
