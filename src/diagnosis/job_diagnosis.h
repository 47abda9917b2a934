// The diagnosis of one job, independent of the method: telemetry in, findings out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "model/finding.h"
#include "model/finding_proof.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis {

// A state machine without thread, socket, clock or disk.
class JobDiagnosis {
 public:
  virtual ~JobDiagnosis() = default;

  // Takes what has arrived since the call before; an empty call is a tick. There should be one a second.
  // Args: now does not run backwards. Returns findings opened and changed, whole, in order. Their ids count from 0, and a
  // change has the id of before.
  virtual std::vector<model::Finding> Handle(SimTime now, std::span<const model::TelemetryRecord> records) = 0;

  // What the finding was made from, as far as it is still known; nothing: it is not.
  virtual std::optional<model::FindingProof> ProofOf(model::FindingId id) const = 0;

  // Of a job whose processes have all ended: whether one is known to have ended first, and not because somebody has
  // stopped the job. Args: now as of Handle().
  virtual bool HasCrashed(SimTime now) const = 0;

  // A host of the job is there, though nothing can be heard of its processes. Not part of recordings. Args: now as of
  // Handle().
  virtual void NoteAnswer(SimTime now, HostId host) = 0;

  // Nothing is suspected until then. Replaces what was announced.
  virtual void ExcuseUntil(SimTime time) = 0;
};

// Makes the diagnosis of a new run of the job of that name.
using JobDiagnosisFactory = std::function<std::unique_ptr<JobDiagnosis>(const std::string& job)>;

}  // namespace fairlead::diagnosis
