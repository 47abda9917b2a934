// What were the latest findings made from?
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "model/finding.h"
#include "model/finding_proof.h"

namespace fairlead::diagnosis::c4d {

class FindingProofs {
 public:
  static constexpr size_t kProofsMax = 64;

  // Beyond kProofsMax that of the least id goes.
  void Keep(model::FindingId id, model::FindingProof proof) {
    proofs_.insert_or_assign(id, std::move(proof));
    if (proofs_.size() > kProofsMax) proofs_.erase(proofs_.begin());
  }
  // Nothing: it was not kept.
  std::optional<model::FindingProof> Find(model::FindingId id) const {
    const auto found = proofs_.find(id);
    return found == proofs_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<model::FindingId, model::FindingProof> proofs_;
};

}  // namespace fairlead::diagnosis::c4d
