// A finding, with its proof and what to look at next, as the gateway gives it out (wire/finding_detail.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/finding_proof.h"
#include "report/finding_text.h"
#include "wire/finding_detail.h"

namespace fairlead::service {

// Args: job: its name.
wire::LiveFinding MakeLive(const std::string& job, const model::Finding& finding, const report::CulpritNames& names);

// Commands that tell the candidates of a finding apart; none where it has no candidates.
std::vector<wire::NextStep> TellApart(const model::Finding& finding, const report::CulpritNames& names);

// Without history. Args: proof: nothing: it is not known any more.
wire::FindingDetail MakeDetail(const std::string& job, const model::Finding& finding,
                               const std::optional<model::FindingProof>& proof, const report::CulpritNames& names);

}  // namespace fairlead::service
