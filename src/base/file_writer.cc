#include "base/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace fairlead {
namespace {

// Temporary names tried before giving up; others of the same process id are leftovers of killed processes.
constexpr int kNumNamesTried = 100;

StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
      return StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kFailedPrecondition;
  }
}

Status Failure(const std::string& path, std::string_view step, int error) {
  return {CodeOf(error), fmt::format("{}: cannot {}: {}; nothing was replaced", path, step, std::strerror(error))};
}

// An open file descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { Close(); }

  int descriptor() const { return descriptor_; }
  // Returns 0 or the error number; network file systems report a full disk only here.
  int Close() {
    if (descriptor_ < 0) return 0;
    return ::close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno;
  }

 private:
  int descriptor_;
};

// Returns 0 or the error number.
int WriteAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// For devices and pipes, which have no old content to keep.
Status WriteDirectly(const std::string& path, std::string_view content) {
  OpenFile file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.descriptor() < 0) return Failure(path, "open it for writing", errno);
  if (const int error = WriteAll(file.descriptor(), content); error != 0) return Failure(path, "write", error);
  if (const int error = file.Close(); error != 0) return Failure(path, "finish writing", error);
  return OkStatus();
}

// The file that `path` names after following symbolic links; `path` itself where there is none yet.
std::string FollowLinks(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

// The folder part of a path, with its slash; empty for the current folder.
std::string FolderOf(const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); }

// Creates a file that no other process has, next to `target`. Returns its descriptor and name; < 0: errno says why.
std::pair<int, std::string> CreateBeside(const std::string& target) {
  const std::string folder = FolderOf(target);
  for (int i = 0; i < kNumNamesTried; ++i) {
    std::string name = fmt::format("{}.{}.{}-{}.tmp", folder, target.substr(folder.size()), ::getpid(), i);
    // Mode 0666 lets the umask decide, as for any other output file.
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return {descriptor, std::move(name)};
  }
  errno = EEXIST;
  return {-1, ""};
}

// Makes a rename survive a power cut. Some file systems can't sync a folder; the rename is done anyway.
void SyncFolder(const std::string& folder) {
  const OpenFile file(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.descriptor() >= 0) static_cast<void>(::fsync(file.descriptor()));
}

Status WriteAndClose(const std::string& path, OpenFile& file, std::string_view content, Outlives what) {
  if (const int error = WriteAll(file.descriptor(), content); error != 0) return Failure(path, "write", error);
  if (what == Outlives::kPowerCut && ::fsync(file.descriptor()) != 0) return Failure(path, "sync to disk", errno);
  if (const int error = file.Close(); error != 0) return Failure(path, "finish writing", error);
  return OkStatus();
}

}  // namespace

Status WriteFileAtomically(const std::string& path, std::string_view content, Outlives what) {
  if (path.empty()) return InvalidArgument("cannot write a file without a name");
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) return Failure(path, "replace a folder by a file", EISDIR);
  if (exists && !S_ISREG(old.st_mode)) return WriteDirectly(path, content);

  const std::string target = FollowLinks(path);
  auto [descriptor, temporary] = CreateBeside(target);
  if (descriptor < 0) return Failure(path, "create a file in its folder", errno);
  OpenFile file(descriptor);
  // Permissions are a courtesy: where they can't be kept, the new file has the usual ones.
  if (exists) static_cast<void>(::fchmod(descriptor, old.st_mode & 07777));

  Status status = WriteAndClose(path, file, content, what);
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
    status = Failure(path, "put the finished file in place", errno);
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  if (what == Outlives::kPowerCut) SyncFolder(FolderOf(target));
  return OkStatus();
}

}  // namespace fairlead
