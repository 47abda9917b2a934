// Whose jobs may be stopped and restarted, and who may use which names of jobs: what the operator lays down.
//
//     # user       names of jobs
//     1001         llama gpt-*
//     anna         *
//     *            scratch-*
//
// A line for each user: a number, a name of the controller's machine, or * for all that have no line of their own; then
// names, each with at most one *, which stands for anything. A job of a user whom no line lets use its name is watched,
// and never acted upon. Without a map every verified owner's jobs may be acted upon.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/job_identity.h"

namespace fairlead::controller {

class JobOwnerMap {
 public:
  // Number of a user; nothing: there is none of that name.
  using FindUser = std::function<std::optional<uint32_t>(const std::string&)>;

  // Errors: kInvalidArgument: the line, what was expected, what was found. A user may have several lines.
  static Result<JobOwnerMap> Parse(std::string_view text, const FindUser& find_user);

  bool MayActOn(const model::JobIdentity& job) const;

 private:
  std::map<uint32_t, std::vector<std::string>> names_of_;
  std::vector<std::string> names_of_others_;
};

}  // namespace fairlead::controller
