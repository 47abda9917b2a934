// How findings speak of ranks, operations and culprits to people, and what they recommend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/suspect.h"
#include "model/finding.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// "all_reduce"
std::string_view NameOf(model::OperationKind kind);
// "rank 5 (host h2, GPU 3)"
std::string Describe(const model::JobLayout& layout, const model::PlaceNames& names, model::RankId rank);
// "rank 5 (host h2, GPU 3), rank 7 (host h2, GPU 5) and 3 more"
std::string Describe(const model::JobLayout& layout, const model::PlaceNames& names,
                     const std::vector<model::RankId>& ranks);
// "the connection from rank 1 to rank 2", "host h3", "the send side of NIC h3/nic0 of host h3"
std::string Describe(const model::JobLayout& layout, const model::PlaceNames& names, const model::Culprit& culprit);
std::string Describe(const model::JobLayout& layout, const model::PlaceNames& names,
                     const std::vector<model::Culprit>& culprits);
// "all_reduce 17 on data 3"
std::string DescribeOperation(const model::JobLayout& layout, model::CommunicatorId communicator,
                              model::OperationKind kind, uint64_t sequence);

// What to do about a finding of that kind: nobody is isolated for what costs little, or has no known cost. Limits of
// steering decide whether it is done. Args: confidence: calibrated, 0..1.
model::RecommendedAction RecommendAction(const Suspect& suspect, double confidence);

// Ranks, or their host where all its ranks (and more than one) are among them. Ascending.
std::vector<model::Culprit> RankCulprits(const model::JobLayout& layout, const std::vector<model::RankId>& ranks);

}  // namespace fairlead::diagnosis::c4d
