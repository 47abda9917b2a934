#include "service/agent/file_quotas.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace fairlead::service {
namespace {

TEST(FileQuotasTest, WhoHasManyTakesNothingFromWhoHasFew) {
  std::vector<OwnedFile> files(1000, {.user = 7});
  files.insert(files.end(), 5, {.user = 8});
  files.insert(files.end(), 30, {.user = 9});
  const auto chosen = ChooseWithinQuotas(files, 512, 100);
  EXPECT_EQ(std::count(chosen.begin(), chosen.begin() + 1000, true), 65);
  EXPECT_EQ(std::count(chosen.begin() + 1000, chosen.end(), true), 35);
}

TEST(FileQuotasTest, WhatIsKnownStays) {
  std::vector<OwnedFile> files(10, {.user = 7});
  files[8].is_known = files[9].is_known = true;
  const auto chosen = ChooseWithinQuotas(files, 3, 100);
  EXPECT_EQ(chosen, (std::vector<bool>{true, false, false, false, false, false, false, false, true, true}));
}

TEST(FileQuotasLawsTest, QuotasHoldAndNothingIsWasted) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<OwnedFile> files;
    std::map<uint32_t, size_t> num_of_user;
    for (uint64_t n = random.Below(60); n > 0; --n) {
      const auto user = static_cast<uint32_t>(random.Below(1 + random.Below(6)));
      files.push_back({.user = user, .is_known = random.Below(2) == 0});
      ++num_of_user[user];
    }
    const size_t per_user = 1 + random.Below(20);
    const size_t total = 1 + random.Below(40);
    const auto chosen = ChooseWithinQuotas(files, per_user, total);
    std::map<uint32_t, size_t> used;
    for (size_t i = 0; i < files.size(); ++i) used[files[i].user] += chosen[i] ? 1 : 0;
    size_t sum = 0;
    for (const auto& [user, count] : used) {
      sum += count;
      EXPECT_LE(count, per_user) << seed;
      if (num_of_user[user] <= std::min(per_user, total / num_of_user.size())) {
        EXPECT_EQ(count, num_of_user[user]) << seed;
      }
    }
    EXPECT_LE(sum, total) << seed;
    size_t wanted = 0;
    for (const auto& [user, count] : num_of_user) wanted += std::min(count, per_user);
    // Less than one for each user is left over.
    EXPECT_GE(sum + num_of_user.size(), std::min(total, wanted)) << seed;
  }
}

}  // namespace
}  // namespace fairlead::service
