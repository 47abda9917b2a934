// Findings about running jobs, as the JSON that the HTTP gateway gives out.
//
// Keys are never renamed; docs/internals/modules/service.md lists them.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/job_watch.h"
#include "service/controller/traffic_json.h"
#include "topology/fabric.h"
#include "wire/finding_detail.h"

namespace fairlead::service {

// "rank 3 on h3", "NIC send side h3/nic0 on h3", with the names of the fabric.
std::string CulpritText(const model::Culprit& culprit, const topology::Fabric& fabric);

// The finding of that number with its proof and what was found about its hosts before; nothing: there is none.
std::optional<wire::FindingDetail> FindingDetailOf(const controller::JobWatch& watch, model::FindingId id,
                                                   const topology::Fabric& fabric);
std::optional<Json> FindingJson(const controller::JobWatch& watch, model::FindingId id, const topology::Fabric& fabric);

// Those of a job with their proofs, by number; at most the last `num_max`.
std::vector<wire::FindingDetail> FindingsOfJob(const controller::JobWatch& watch, const std::string& job,
                                               const topology::Fabric& fabric, size_t num_max);

// Of its culprits.
std::set<HostId> HostsOf(const model::Finding& finding);

Json FindingsJson(std::span<const controller::WatchedFinding> findings, const topology::Fabric& fabric);

}  // namespace fairlead::service
