// The fields of findings as they are kept (codec/record.h). Names never change meaning.
#pragma once

#include "codec/record.h"
#include "model/finding.h"
#include "model/telemetry_fields.h"

namespace fairlead::codec {

template <>
inline constexpr uint64_t kNumEnumerators<model::Syndrome> = model::kNumSyndromes;
template <>
inline constexpr uint64_t kNumEnumerators<model::CulpritKind> = static_cast<uint64_t>(model::CulpritKind::kPlane) + 1;
template <>
inline constexpr uint64_t kNumEnumerators<model::SubCause> = static_cast<uint64_t>(model::SubCause::kProcess) + 1;
template <>
inline constexpr uint64_t kNumEnumerators<model::Sign> = static_cast<uint64_t>(model::Sign::kTest) + 1;
template <>
inline constexpr uint64_t kNumEnumerators<model::FindingState> = static_cast<uint64_t>(model::FindingState::kCleared) +
                                                                 1;
template <>
inline constexpr uint64_t kNumEnumerators<model::RecommendedAction> =
    static_cast<uint64_t>(model::RecommendedAction::kRepairPath) + 1;

}  // namespace fairlead::codec

namespace fairlead::model {

template <class Archive, codec::IsRecord<Culprit> Record>
void Describe(Archive& archive, Record& culprit) {
  archive.Required("kind", culprit.kind);
  archive.Optional("rank", culprit.rank);
  archive.Optional("peer", culprit.peer);
  archive.Optional("host", culprit.host);
  archive.Optional("nic", culprit.nic);
  archive.Optional("leaf", culprit.leaf);
  archive.Optional("plane", culprit.plane);
}

template <class Archive, codec::IsRecord<Evidence> Record>
void Describe(Archive& archive, Record& evidence) {
  archive.Required("what", evidence.what);
  archive.Required("value", evidence.value, codec::MaybeInfinite());
  archive.Required("baseline", evidence.baseline, codec::MaybeInfinite());
  archive.Required("unit", evidence.unit);
}

template <class Archive, codec::IsRecord<Candidate> Record>
void Describe(Archive& archive, Record& candidate) {
  archive.Required("culprit", candidate.culprit);
  archive.Required("why", candidate.why);
  archive.Required("evidence", candidate.evidence);
}

template <class Archive, codec::IsRecord<Finding> Record>
void Describe(Archive& archive, Record& finding) {
  archive.Optional("id", finding.id);
  archive.Optional("job", finding.job);
  archive.Required("syndrome", finding.syndrome);
  archive.Required("state", finding.state);
  archive.Required("culprits", finding.culprits);
  archive.Optional("candidates", finding.candidates);
  archive.Optional("communicator", finding.communicator);
  archive.Optional("operation", finding.operation);
  archive.Required("sequence", finding.sequence);
  archive.Required("sub_cause", finding.sub_cause);
  archive.Required("evidence", finding.evidence);
  archive.Optional("signs", finding.signs);
  archive.Required("summary", finding.summary);
  archive.Required("confidence", finding.confidence, codec::MaybeInfinite());
  archive.Optional("score", finding.score);
  archive.Optional("cost_share", finding.cost_share);
  archive.Optional("cost_gpu_hours", finding.cost_gpu_hours);
  archive.Required("action", finding.action);
  archive.Required("first_seen", finding.first_seen);
  archive.Required("confirmed", finding.confirmed);
  archive.Required("cleared", finding.cleared);
  archive.Required("symptoms", finding.symptoms);
}

}  // namespace fairlead::model
