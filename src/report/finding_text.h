// Culprits and evidence of findings as people read them.
#pragma once

#include <functional>
#include <string>

#include "model/finding.h"

namespace fairlead::report {

// How things are called where the finding was made; none is empty.
struct CulpritNames {
  std::function<std::string(HostId)> host;
  std::function<std::string(NicId)> nic;
  std::function<std::string(model::LeafId)> leaf;
};

// "rank 5 on h1", "NIC send side h1/nic0 on h1", "connection from rank 3 to rank 4", "leaf leaf2", …
std::string CulpritText(const model::Culprit& culprit, const CulpritNames& names);

// "exit code of rank 2: -1", "seconds per GB: 0.9 s (normal: 0.1)"
std::string EvidenceText(const model::Evidence& evidence);

// "costs 11 % of the job, 2,703 GPU-hours a day"; empty where it is not known.
std::string CostText(const model::Finding& finding);

}  // namespace fairlead::report
