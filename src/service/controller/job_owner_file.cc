#include "service/controller/job_owner_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/descriptor.h"

namespace fairlead::service {
namespace {

constexpr size_t kBytesMax = size_t{1} << 20;

Status CheckOwner(const std::string& path, const struct stat& about) {
  if (about.st_uid != 0 && about.st_uid != geteuid()) {
    return {
        StatusCode::kFailedPrecondition,
        fmt::format("map of jobs: {} belongs to user {}, who could let anybody's jobs be stopped: run chown root on it",
                    path, about.st_uid)};
  }
  const bool is_sticky = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
  if ((about.st_mode & 022) == 0 || is_sticky) return OkStatus();
  return {StatusCode::kFailedPrecondition,
          fmt::format("map of jobs: others than its owner may write {}: run chmod go-w on it", path)};
}

Result<std::string> ReadOwnFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) return NotFound(fmt::format("map of jobs: {} can't be opened: {}", path, std::strerror(errno)));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("map of jobs: {} is not a regular file", path));
  }
  FL_RETURN_IF_ERROR(CheckOwner(path, about));
  std::string text;
  std::array<char, 4096> bytes;
  for (ssize_t size = 1; size > 0 && text.size() <= kBytesMax;) {
    size = read(file.get(), bytes.data(), bytes.size());
    if (size < 0) return Unavailable(fmt::format("map of jobs: {} can't be read: {}", path, std::strerror(errno)));
    text.append(bytes.data(), static_cast<size_t>(size));
  }
  if (text.size() > kBytesMax) return InvalidArgument(fmt::format("map of jobs: {} is longer than 1 MiB", path));
  return text;
}

std::optional<uint32_t> FindUser(const std::string& name) {
  const passwd* user = getpwnam(name.c_str());
  return user == nullptr ? std::nullopt : std::optional<uint32_t>(user->pw_uid);
}

}  // namespace

Result<controller::JobOwnerMap> LoadJobOwnerMap(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadOwnFile(path));
  std::error_code error;
  for (auto folder = std::filesystem::absolute(path, error).parent_path();; folder = folder.parent_path()) {
    struct stat about = {};
    if (stat(folder.c_str(), &about) != 0) {
      return Unavailable(fmt::format("map of jobs: {} can't be examined: {}", folder.string(), std::strerror(errno)));
    }
    FL_RETURN_IF_ERROR(CheckOwner(folder, about));
    if (folder == folder.root_path()) break;
  }
  auto map = controller::JobOwnerMap::Parse(text, FindUser);
  if (!map.ok()) return InvalidArgument(fmt::format("map of jobs: {}, {}", path, map.status().message()));
  return map;
}

}  // namespace fairlead::service
