#include "slurm/progress_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <string_view>

#include "base/descriptor.h"
#include "base/whole_number.h"

namespace fairlead::slurm {
namespace {

constexpr size_t kBytesMax = 64;

Status Strange(const char* what) { return InvalidArgument(std::string("its progress file ") + what); }

}  // namespace

Result<double> ReadProgressFile(const std::string& path, uint32_t owner) {
  // Opening a pipe without a writer, or a device, must not block or do anything.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound("its progress file does not exist");
    return Strange(errno == ELOOP ? "is a symbolic link" : "can't be opened");
  }
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Strange("is no regular file");
  if (status.st_uid != owner) return Strange("is not of the job's user");
  std::array<char, kBytesMax> bytes;
  const ssize_t length = read(file.get(), bytes.data(), bytes.size());
  if (length < 0) return Strange("can't be read");
  if (length == std::ssize(bytes)) return Strange("is longer than a number");
  std::string_view text(bytes.data(), static_cast<size_t>(length));
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return NotFound("its progress file is empty");
  text = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
  const std::optional<double> steps = ParseWhole<double>(text);
  if (!steps.has_value() || !std::isfinite(*steps) || *steps < 0) return Strange("has no number of steps");
  return *steps;
}

std::optional<SimTime> TimeOfFile(const std::string& path, uint32_t owner) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != owner) return std::nullopt;
  constexpr int64_t kSecond = 1'000'000'000;
  return SimTime(status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec);
}

}  // namespace fairlead::slurm
