// Findings that name two hosts, or connections between them, and can't tell which one is at fault: what is asked about
// them, and what the answers make of them.
//
// Method      a confirmed hang between two NICs is asked about once, also one that accuses nobody, where its
//             candidates are ranks at two NICs or the job has no more than two; while a job hangs, a test disturbs
//             nobody. An answer stays true of what was asked: as long as the finding names the same it is told with the
//             end that the tests have named, their evidence, and their sign, which is independent of the job's
//             telemetry.
// Guarantees  what is undecided, or slow no more, changes nothing but the evidence. Tests of this kind are not
//             calibrated: a finding whose end they name is believed with kTestedConfidence at least, which is less than
//             steering acts upon by default.
// Cost        O(culprits + hosts of the job) for a question.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "controller/slow_end_question.h"
#include "model/finding.h"
#include "model/place_names.h"

namespace fairlead::controller {

// Where a rank's connections leave its host.
struct RankEnd {
  HostId host;
  NicId nic;  // invalid: not known

  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

class EndQuestions {
 public:
  static constexpr double kTestedConfidence = 0.6;

  // `names` must outlive this.
  explicit EndQuestions(const model::PlaceNames& names) : names_(names) {}

  // Asks about a finding where that helps. Args: ends: [rank of the job].
  void Consider(const model::Finding& finding, std::span<const RankEnd> ends);
  std::vector<SlowEndQuestion> TakeQuestions() { return std::exchange(questions_, {}); }
  // False: nobody asked.
  bool Take(const SlowEndAnswer& answer);
  // The finding as the answer has it; without one it stays as it is.
  void Refine(model::Finding* finding) const;
  // It is over.
  void Forget(model::FindingId finding) { asked_.erase(finding); }

 private:
  struct Asked {
    SlowEndQuestion question;
    std::vector<model::Culprit> culprits;  // of the finding then
    bool is_one_way = false;               // they are connections from the first host to the second one
    std::optional<SlowEndAnswer> answer;
  };

  void Blame(const Asked& asked, model::Finding* finding) const;

  const model::PlaceNames& names_;
  std::map<model::FindingId, Asked> asked_;
  std::vector<SlowEndQuestion> questions_;
};

}  // namespace fairlead::controller
