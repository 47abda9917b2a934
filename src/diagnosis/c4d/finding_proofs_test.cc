#include "diagnosis/c4d/finding_proofs.h"

#include <gtest/gtest.h>

namespace fairlead::diagnosis::c4d {
namespace {

TEST(FindingProofsTest, TheLatestAreKept) {
  FindingProofs proofs;
  for (uint32_t id = 0; id <= FindingProofs::kProofsMax; ++id) {
    model::FindingProof proof;
    proof.seen_at = SimTime(id);
    proofs.Keep(model::FindingId(id), proof);
  }
  EXPECT_FALSE(proofs.Find(model::FindingId(0u)).has_value());
  EXPECT_EQ(proofs.Find(model::FindingId(1u))->seen_at, SimTime(1));
  EXPECT_FALSE(proofs.Find(model::FindingId(1000u)).has_value());
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
