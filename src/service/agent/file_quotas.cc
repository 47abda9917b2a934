#include "service/agent/file_quotas.h"

#include <algorithm>

namespace fairlead::service {

namespace {

// The greatest share with which all fit.
size_t ShareOf(const std::map<uint32_t, size_t>& num_of_user, size_t per_user, size_t total) {
  std::vector<size_t> counts;
  for (const auto& [user, count] : num_of_user) counts.push_back(std::min(count, per_user));
  std::ranges::sort(counts);
  size_t left = total;
  for (size_t i = 0; i < counts.size(); ++i) {
    const size_t share = left / (counts.size() - i);
    if (counts[i] > share) return share;
    left -= counts[i];
  }
  return per_user;
}

}  // namespace

std::vector<bool> ChooseWithinQuotas(const std::vector<OwnedFile>& files, size_t per_user, size_t total) {
  std::map<uint32_t, size_t> num_of_user;
  for (const OwnedFile& file : files) ++num_of_user[file.user];
  const size_t share = ShareOf(num_of_user, per_user, total);
  std::vector<bool> chosen(files.size(), false);
  std::map<uint32_t, size_t> used;
  for (const bool is_known : {true, false}) {
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].is_known == is_known && used[files[i].user] < share) {
        ++used[files[i].user];
        chosen[i] = true;
      }
    }
  }
  return chosen;
}

}  // namespace fairlead::service
