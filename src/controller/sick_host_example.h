// For tests of steering: a finding that makes it act.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/sim_time.h"
#include "model/finding.h"

namespace fairlead::controller {

// Confirmed: the host hangs, and is to be isolated.
inline model::Finding SickHost(uint32_t id, JobId job, HostId host, SimTime first_seen) {
  model::Finding finding;
  finding.id = model::FindingId(id);
  finding.job = job;
  finding.syndrome = model::Syndrome::kNonCommHang;
  finding.state = model::FindingState::kConfirmed;
  finding.confidence = 0.95;
  finding.action = model::RecommendedAction::kIsolateAndRestart;
  finding.signs = {model::Sign::kPeers, model::Sign::kOwnRanks};
  finding.summary = "host " + std::to_string(host.value()) + " hangs";
  finding.first_seen = first_seen;
  model::Culprit culprit;
  culprit.kind = model::CulpritKind::kHost;
  culprit.host = host;
  finding.culprits = {culprit};
  return finding;
}

}  // namespace fairlead::controller
