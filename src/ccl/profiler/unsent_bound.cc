#include "ccl/profiler/unsent_bound.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "ccl/monotonic_clock.h"

namespace fairlead::ccl {
namespace {

constexpr uint32_t kUnsentBytes = 128 * 1024;

uint32_t ReadUnsentBytes() {
  const char* text = getenv("FAIRLEAD_TCP_UNSENT_BYTES");
  if (text == nullptr || *text == '\0') return kUnsentBytes;
  char* end = nullptr;
  const long bytes = strtol(text, &end, 10);
  if (*end == '\0' && bytes >= 0 && bytes <= INT_MAX) return static_cast<uint32_t>(bytes);
  static std::atomic_flag is_reported = ATOMIC_FLAG_INIT;
  if (!is_reported.test_and_set()) {
    fprintf(stderr, "fairlead: FAIRLEAD_TCP_UNSENT_BYTES: expected a number of bytes from 0 to %d; %u is used\n",
            INT_MAX, kUnsentBytes);
  }
  return kUnsentBytes;
}

void BoundSocket(int file, uint32_t bytes) {
  int protocol = 0;
  socklen_t length = sizeof(protocol);
  if (getsockopt(file, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 || protocol != IPPROTO_TCP) return;
  uint32_t bound = 0;
  length = sizeof(bound);
  // 0: it has none of its own.
  if (getsockopt(file, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bound, &length) != 0 || bound != 0) return;
  setsockopt(file, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

// Not opendir(), which allocates.
void BoundAllSockets(uint32_t bytes) {
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(dirent64) char entries[4096];
  for (long size = 0; (size = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0;) {
    for (long place = 0; place < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + place);
      char* end = nullptr;
      const long file = strtol(entry->d_name, &end, 10);
      if (end != entry->d_name && *end == '\0') BoundSocket(static_cast<int>(file), bytes);
      place += entry->d_reclen;
    }
  }
  close(folder);
}

}  // namespace

void UnsentBound::Begin() { bytes_.store(ReadUnsentBytes(), std::memory_order_relaxed); }

void UnsentBound::Look() {
  const int64_t now = NowNs();
  int64_t looked = looked_ns_.load(std::memory_order_relaxed);
  if (looked != 0 && now - looked < kLookPauseNs) return;
  if (!looked_ns_.compare_exchange_strong(looked, now, std::memory_order_relaxed)) return;  // another thread looks
  has_news_.store(false, std::memory_order_relaxed);
  const uint32_t bytes = bytes_.load(std::memory_order_relaxed);
  if (bytes == 0) return;
  const int errno_before = errno;
  BoundAllSockets(bytes);
  errno = errno_before;
}

}  // namespace fairlead::ccl
