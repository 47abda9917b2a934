// Reads the data of the Pollux benchmark (OSDI 2021): measured profiles of six applications, and workloads.
//
// Folder of an application   placements.csv, scalability.csv, validation-<batch>.csv
// Workload                   CSV: name, time (s), application, num_replicas, batch_size
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "sim/elastic/application_profile.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

// Args: folder that holds the application's files; its last part is the name of the application, one of the six, with
// known batch limits and epochs. Errors: kNotFound for a missing file, kInvalidArgument with file:line.
Result<ApplicationProfile> LoadPolluxProfile(const std::string& folder);

// All six, by name.
Result<ProfileSet> LoadPolluxProfiles(const std::string& traces_folder);

// Errors: kNotFound; kInvalidArgument with file:line for an unknown application or a number that is none.
Result<std::vector<ElasticJobSpec>> LoadPolluxWorkload(const std::string& path, const ProfileSet& profiles);

}  // namespace fairlead::sim
