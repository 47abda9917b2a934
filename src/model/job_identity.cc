#include "model/job_identity.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "model/job_name.h"

namespace fairlead::model {
namespace {

constexpr std::string_view kSlurm = ".slurm-";
constexpr std::string_view kUnverified = ".unverified";

// Takes a number off the front; nothing: there is none, or it could be written in another way.
std::optional<uint32_t> TakeNumber(std::string_view* text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const auto size = static_cast<size_t>(end - text->data());
  if (error != std::errc() || (text->front() == '0' && size > 1)) return std::nullopt;
  text->remove_prefix(size);
  return number;
}

}  // namespace

std::string JobKey(const JobIdentity& identity) {
  const bool is_of_root = identity.owner == 0 && identity.slurm_job == 0 && identity.is_owner_verified;
  if (is_of_root) return identity.name;
  std::string key = fmt::format("{}@{}", identity.name, identity.owner);
  if (identity.slurm_job != 0) return key + fmt::format("{}{}", kSlurm, identity.slurm_job);
  return identity.is_owner_verified ? key : key.append(kUnverified);
}

std::optional<JobIdentity> ParseJobKey(std::string_view key) {
  const size_t at = key.find('@');
  JobIdentity identity = {.name = std::string(key.substr(0, at))};
  if (key.size() > kJobKeyBytesMax || !shm::IsJobName(identity.name)) return std::nullopt;
  if (at == std::string_view::npos) return identity;
  std::string_view rest = key.substr(at + 1);
  const std::optional<uint32_t> owner = TakeNumber(&rest);
  if (!owner.has_value()) return std::nullopt;
  identity.owner = *owner;
  if (rest.starts_with(kSlurm)) {
    rest.remove_prefix(kSlurm.size());
    identity.slurm_job = TakeNumber(&rest).value_or(0);
    if (identity.slurm_job == 0) return std::nullopt;
  } else if (rest.starts_with(kUnverified)) {
    rest.remove_prefix(kUnverified.size());
    identity.is_owner_verified = false;
  } else if (identity.owner == 0) {
    return std::nullopt;  // its key has no owner
  }
  return rest.empty() ? std::optional(identity) : std::nullopt;
}

Status CheckJobKey(std::string_view key, std::string_view where) {
  if (IsJobKey(key)) return OkStatus();
  if (key.find('@') == std::string_view::npos) return CheckJobName(key, where);
  return InvalidArgument(fmt::format(
      "{}: expected a job as NAME@USERID, NAME@USERID.slurm-NUMBER, or only the name for one of root, found '{}'",
      where, PrintableText(key)));
}

}  // namespace fairlead::model
