#include "controller/job_owner_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/whole_number.h"
#include "model/job_name.h"

namespace fairlead::controller {
namespace {

constexpr char kAny[] = "*";

bool IsPattern(std::string pattern) {
  const size_t star = pattern.find('*');
  if (star != std::string::npos) pattern.erase(star, 1);
  return (pattern.empty() && star != std::string::npos) || shm::IsJobName(pattern);
}

bool Matches(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) && name.ends_with(tail);
}

}  // namespace

Result<JobOwnerMap> JobOwnerMap::Parse(std::string_view text, const FindUser& find_user) {
  JobOwnerMap map;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string user;
    if (!(words >> user)) continue;
    std::vector<std::string>* names = &map.names_of_others_;
    if (user != kAny) {
      std::optional<uint32_t> id = ParseWhole<uint32_t>(user);
      if (!id.has_value()) id = find_user(user);
      if (!id.has_value()) {
        return InvalidArgument(fmt::format("line {}: expected a user of this machine, a number or *, found {}", number,
                                           model::PrintableText(user)));
      }
      names = &map.names_of_[*id];
    }
    std::string pattern;
    const size_t num_before = names->size();
    for (; words >> pattern; names->push_back(pattern)) {
      if (IsPattern(pattern)) continue;
      return InvalidArgument(
          fmt::format("line {}: expected names of jobs, A-Z a-z 0-9 . _ - and at most one *, found {}", number,
                      model::PrintableText(pattern)));
    }
    if (names->size() == num_before) {
      return InvalidArgument(fmt::format("line {}: expected names of jobs after the user, found none", number));
    }
  }
  return map;
}

bool JobOwnerMap::MayActOn(const model::JobIdentity& job) const {
  const auto found = names_of_.find(job.owner);
  const std::vector<std::string>& patterns = found == names_of_.end() ? names_of_others_ : found->second;
  return job.is_owner_verified &&
         std::ranges::any_of(patterns, [&](const std::string& pattern) { return Matches(pattern, job.name); });
}

}  // namespace fairlead::controller
