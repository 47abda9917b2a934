#include "lab/lab_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file_reader.h"
#include "base/file_writer.h"

namespace fairlead::lab {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxName = 40;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

Status CheckName(const std::string& name) {
  if (!name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format("lab name '{}': expected 1 to {} letters, digits, '-' and '_'", name, kMaxName));
}

Status MakeOwnFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status(
        StatusCode::kFailedPrecondition,
        fmt::format("{}: can't be made: {}. Set FAIRLEAD_LAB_DIR to a folder of your own", path, std::strerror(errno)));
  }
  struct stat found = {};
  // Its owner could make this user's commands end another process.
  if (stat(path.c_str(), &found) != 0 || found.st_uid != geteuid()) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("{}: belongs to another user. Set FAIRLEAD_LAB_DIR to a folder of your own", path));
  }
  return OkStatus();
}

std::string StatePath(const std::string& run_folder, const std::string& name) {
  return run_folder + "/" + name + "/lab.json";
}

Result<std::string> LoadText(const std::string& path, const std::string& name) {
  Result<std::string> text = ReadWholeFile(path);
  if (text.status().code() != StatusCode::kNotFound) return text;
  return NotFound(fmt::format(
      "no lab '{}' is up ({} does not exist). Bring it up: fairlead lab up FABRIC.yaml --name {}", name, path, name));
}

Result<LabState> LoadState(const std::string& path, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const std::string text, LoadText(path, name));
  return ReadLabState(text, path);
}

}  // namespace

std::string DefaultRunFolder() {
  if (const char* folder = std::getenv("FAIRLEAD_LAB_DIR"); folder != nullptr && *folder != '\0') return folder;
  if (geteuid() == 0) return "/run/fairlead/lab";
  if (const char* folder = std::getenv("XDG_RUNTIME_DIR"); folder != nullptr && *folder != '\0') {
    return std::string(folder) + "/fairlead/lab";
  }
  return fmt::format("/tmp/fairlead-{}/lab", geteuid());
}

Result<LabFolder> LabFolder::Open(const std::string& run_folder, const std::string& name) {
  return OpenWith(run_folder, name, "lock", "another command is changing");
}

Result<LabFolder> LabFolder::OpenForJobs(const std::string& run_folder, const std::string& name) {
  return OpenWith(run_folder, name, "jobs.lock", "jobs are running in");
}

Result<LabFolder> LabFolder::OpenWith(const std::string& run_folder, const std::string& name,
                                      const std::string& lock_name, const std::string& who) {
  FL_RETURN_IF_ERROR(CheckName(name));
  FL_RETURN_IF_ERROR(MakeOwnFolder(run_folder));
  LabFolder folder;
  folder.name_ = name;
  folder.path_ = fs::absolute(run_folder).string() + "/" + name;
  FL_RETURN_IF_ERROR(MakeOwnFolder(folder.path_));
  const std::string lock = folder.path_ + "/" + lock_name;
  while (true) {
    folder.lock_ = Descriptor(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!folder.lock_.is_open() && errno == ENOENT) {  // `down` has just removed the folder
      FL_RETURN_IF_ERROR(MakeOwnFolder(folder.path_));
      continue;
    }
    if (!folder.lock_.is_open()) {
      return Status(StatusCode::kFailedPrecondition, fmt::format("{}: {}", lock, std::strerror(errno)));
    }
    if (flock(folder.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      return Unavailable(fmt::format("{} lab '{}'. Try again when it is done", who, name));
    }
    // The file that is locked may be one that `down` has removed in the meantime.
    struct stat held = {};
    struct stat named = {};
    if (fstat(folder.lock_.get(), &held) == 0 && stat(lock.c_str(), &named) == 0 && held.st_ino == named.st_ino) {
      return folder;
    }
  }
}

Result<LabState> LabFolder::Look(const std::string& run_folder, const std::string& name) {
  FL_RETURN_IF_ERROR(CheckName(name));
  return LoadState(StatePath(run_folder, name), name);
}

std::string LabFolder::HostsFileOf(const std::string& run_folder, const std::string& name) {
  return fs::absolute(run_folder).string() + "/" + name + "/hosts";
}

std::vector<std::string> LabFolder::List(const std::string& run_folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_folder, error)) {
    if (fs::exists(entry.path() / "lab.json", error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<LabState> LabFolder::Load() const { return LoadState(path_ + "/lab.json", name_); }

Result<KeeperId> LabFolder::LoadKeeper() const {
  const std::string path = path_ + "/lab.json";
  FL_ASSIGN_OR_RETURN(const std::string text, LoadText(path, name_));
  return ReadKeeperOf(text, path);
}

Status LabFolder::Save(const LabState& state) const {
  return WriteFileAtomically(path_ + "/lab.json", WriteLabState(state));
}

Status LabFolder::Remove() const {
  std::error_code error;
  fs::remove_all(path_, error);
  if (!error) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, fmt::format("{}: can't be removed: {}", path_, error.message()));
}

}  // namespace fairlead::lab
