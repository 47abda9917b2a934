// Values of options of `fairlead sched run`: the cluster and its tenants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduling/tenant_shares.h"
#include "sim/elastic/training_run.h"

namespace fairlead::cli {

// "16x4": nodes times GPUs; "6x4:t4,2x8:a100": of several types. At most a million GPUs. Errors: kInvalidArgument,
// naming --cluster and what was found.
Result<sim::ElasticCluster> ParseCluster(const std::string& text);

// "6 nodes of 4 GPUs (t4), 2 nodes of 8 GPUs (a100)"
std::string DescribeCluster(const sim::ElasticCluster& cluster);

// "research:2,prod:1:16": names, weights, and guaranteed GPUs where there are any. Errors: kInvalidArgument, naming
// --tenants and what was found.
Result<std::vector<scheduling::Tenant>> ParseTenants(std::span<const std::string> texts);

}  // namespace fairlead::cli
