// Which of many files of many users are looked at, where not all can be.
//
// Method      a user's share is the number that makes all shares together fit: who has less than that has all of his.
//             Within a user, those that were looked at before come first, then the order they are given in.
// Cost        O(files log files).
// Guarantees  at most `per_user` of one user and `total` in all; a user with at most total / (number of users) files,
//             and no more than per_user, has all of them looked at, however many others have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace fairlead::service {

struct OwnedFile {
  uint32_t user = 0;
  bool is_known = false;  // looked at before
};

// Returns: [file] whether it is looked at.
std::vector<bool> ChooseWithinQuotas(const std::vector<OwnedFile>& files, size_t per_user, size_t total);

}  // namespace fairlead::service
