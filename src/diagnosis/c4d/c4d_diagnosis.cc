#include "diagnosis/c4d/c4d_diagnosis.h"

#include <optional>
#include <string>
#include <utility>

#include "diagnosis/c4d/c4d_master.h"

namespace fairlead::diagnosis::c4d {

namespace {

class C4dDiagnosis final : public JobDiagnosis {
 public:
  C4dDiagnosis(const C4dOptions& options, const model::PlaceNames& names) : master_(options, names) {}

  std::vector<model::Finding> Handle(SimTime now, std::span<const model::TelemetryRecord> records) override {
    std::vector<model::Finding> findings;
    for (C4dAction& action : master_.Handle(now, records)) findings.push_back(std::move(action.finding));
    return findings;
  }
  void NoteAnswer(SimTime now, HostId host) override { master_.NoteAnswer(now, host); }
  void ExcuseUntil(SimTime time) override { master_.ExcuseUntil(time); }
  bool HasCrashed(SimTime now) const override { return master_.HasCrashed(now); }
  std::optional<model::FindingProof> ProofOf(model::FindingId id) const override { return master_.ProofOf(id); }

 private:
  C4dMaster master_;
};

}  // namespace

JobDiagnosisFactory DiagnoseByC4d(const C4dOptions& options, model::PlaceNames names) {
  return [options, names = std::move(names)](const std::string& /*job*/) -> std::unique_ptr<JobDiagnosis> {
    return std::make_unique<C4dDiagnosis>(options, names);
  };
}

}  // namespace fairlead::diagnosis::c4d
