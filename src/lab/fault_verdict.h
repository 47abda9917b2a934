// Is what was found what was planted? The judge of faults in the lab.
//
// It checks what can be observed, as execution/expected_finding.h does of simulated jobs: a NIC that sends or receives
// slowly can't be distinguished from the connections that use it, and a host of one rank not from the rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/findings_page.h"
#include "lab/lab_faults.h"

namespace fairlead::lab {

// Who a finding names, by the text for people (report/finding_text.h).
enum class CulpritForm { kRank, kHost, kNicSend, kNicReceive, kNic, kConnection, kOther };

struct NamedCulprit {
  CulpritForm form = CulpritForm::kOther;
  std::vector<uint32_t> ranks;  // in the order of the text: of a connection from, to

  friend bool operator==(const NamedCulprit&, const NamedCulprit&) = default;
};

NamedCulprit ParseCulprit(std::string_view text);

// Whether anything should be found: not of a healthy job, and not of one that pauses.
bool NeedsFinding(LabFaultKind kind);

// Seconds after which there has to be a finding: until it is suspected and confirmed, and as much again. It is for how
// long one waits, not a measure of how good an answer is.
double PatienceSeconds(LabFaultKind kind);

// Whether the syndrome is right and all culprits are. Args: hosts [rank]: names of the hosts where the job ran when the
// fault was planted; each worker is one rank.
bool IsRight(const LabFault& fault, std::span<const std::string> hosts, const wire::LiveFinding& finding);

}  // namespace fairlead::lab
