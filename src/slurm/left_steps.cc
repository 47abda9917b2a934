#include "slurm/left_steps.h"

#include <string_view>
#include <utility>

namespace fairlead::slurm {

std::string JobOrHostOf(const std::string& subject) {
  for (const auto& [prefix, kind] :
       {std::pair("reservation fairlead_job_", "job "), std::pair("reservation fairlead_test_", "host ")}) {
    if (subject.starts_with(prefix)) return kind + subject.substr(std::string_view(prefix).size());
  }
  return subject;
}

bool LeftSteps::Note(const std::string& subject, SimTime now) {
  const auto before = since_.find(subject);
  const auto since = before == since_.end() ? now : before->second;
  new_since_[subject] = since;
  return now - since >= left_after_;
}

void LeftSteps::EndLook(bool is_complete) {
  if (is_complete) since_ = std::move(new_since_);
  new_since_.clear();
}

void LeftSteps::Skip(SimDuration absence) {
  for (auto& [subject, since] : since_) since = since + absence;
}

}  // namespace fairlead::slurm
