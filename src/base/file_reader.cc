#include "base/file_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"

namespace fairlead {
namespace {

constexpr size_t kBlockBytes = 65536;

Status Failure(const std::string& path, int error) {
  const bool is_missing = error == ENOENT || error == ENOTDIR;
  return {is_missing ? StatusCode::kNotFound : StatusCode::kFailedPrecondition,
          fmt::format("{}: cannot be read: {}", path, std::strerror(error))};
}

// What the file says of its size, and a byte by which its end is seen; files of /proc say 0.
size_t FirstBlock(int descriptor) {
  struct stat about = {};
  const bool has_size = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
  return has_size ? static_cast<size_t>(about.st_size) + 1 : kBlockBytes;
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path, size_t max_bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return Failure(path, errno);
  const size_t limit = std::max(max_bytes, max_bytes + 1);  // the byte that tells that it is longer
  std::string text;
  size_t size = 0;
  for (size_t block = FirstBlock(file.get()); size < limit; block = std::max(kBlockBytes, size)) {
    text.resize(std::min(limit, size + block));
    while (size < text.size()) {
      const ssize_t count = read(file.get(), text.data() + size, text.size() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Failure(path, errno);
      if (count == 0) {
        text.resize(size);
        return text;
      }
      size += static_cast<size_t>(count);
    }
  }
  return Status(StatusCode::kResourceExhausted, fmt::format("{}: is larger than {} bytes", path, max_bytes));
}

Result<std::string> ReadEndOfFile(const std::string& path, size_t max_bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return Failure(path, errno);
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return Failure(path, errno);
  if (!S_ISREG(about.st_mode))
    return Status(StatusCode::kFailedPrecondition, fmt::format("{}: is no regular file", path));
  const auto size = static_cast<size_t>(about.st_size);
  std::string text(std::min(size, max_bytes), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const auto at = static_cast<off_t>(size - text.size() + done);
    const ssize_t count = pread(file.get(), text.data() + done, text.size() - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failure(path, errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  text.resize(done);
  return text;
}

std::string ReadFileIfThere(const std::string& path) {
  Result<std::string> text = ReadWholeFile(path);
  return text.ok() ? std::move(text).value() : std::string();
}

}  // namespace fairlead
