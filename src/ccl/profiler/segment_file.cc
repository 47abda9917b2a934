#include "ccl/profiler/segment_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ccl/monotonic_clock.h"
#include "shm/job_name.h"

namespace fairlead::ccl {
namespace {

shm::ProfilerSegment* segment = nullptr;
char file_path[PATH_MAX] = "";

// Field 22 of /proc/self/stat. The name in field 2 may hold blanks and parentheses: counting begins after its end.
uint64_t ReadProcessStart() {
  char text[1024] = "";
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  if (size <= 0) return 0;
  const char* field = strrchr(text, ')');
  for (int i = 2; field != nullptr && i < 22; ++i) field = strchr(field + 1, ' ');
  return field == nullptr ? 0 : strtoull(field + 1, nullptr, 10);
}

int32_t ReadGlobalRank() {
  for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}) {
    const char* text = getenv(name);
    if (text == nullptr || *text == '\0') continue;
    char* end = nullptr;
    const long rank = strtol(text, &end, 10);
    if (*end == '\0' && rank >= 0 && rank <= INT32_MAX) return static_cast<int32_t>(rank);
  }
  return -1;
}

// A bad name is no reason to hold up training: it is reported once, and the process records as one without a name.
void WriteJob(shm::SegmentHeader* header) {
  static_assert(sizeof(header->job) == shm::kProcessJobNameBytesMax + 1);
  const char* job = getenv("FAIRLEAD_JOB");
  if (job == nullptr || *job == '\0') return;
  if (shm::IsProcessJobName(job)) {
    strcpy(header->job, job);
    return;
  }
  static bool is_reported = false;
  if (is_reported) return;
  is_reported = true;
  // Not the name itself: its bytes are anything.
  fprintf(stderr,
          "fairlead: FAIRLEAD_JOB: expected the name of a job, 1 to %zu of A-Z a-z 0-9 . _ -, found %zu bytes that "
          "are none; this process is not diagnosed\n",
          shm::kProcessJobNameBytesMax, strlen(job));
}

void FillHeader(shm::SegmentHeader* header) {
  header->version = shm::kSegmentVersion;
  header->bytes = sizeof(shm::ProfilerSegment);
  header->pid = getpid();
  header->global_rank = ReadGlobalRank();
  header->process_start = ReadProcessStart();
  header->realtime_offset = ReadClockNs(CLOCK_REALTIME) - NowNs();
  WriteJob(header);
}

// A file of our name that we may take away is left over from a dead process of ours: no other process has our number.
// Where another user has put one there, which is his to take away, ours gets a suffix that nobody knows before.
int MakeFile(const char* folder) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    char suffix[24] = "";
    if (attempt > 0)
      snprintf(suffix, sizeof(suffix), ".%llx", static_cast<unsigned long long>(ReadClockNs(CLOCK_REALTIME)));
    const int length =
        snprintf(file_path, sizeof(file_path), "%s/fairlead-%d%s", folder, static_cast<int>(getpid()), suffix);
    if (length < 0 || length >= static_cast<int>(sizeof(file_path))) return -1;
    unlink(file_path);
    const int file = open(file_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

void* MapFile() {
  const char* folder = getenv("FAIRLEAD_SHM_FOLDER");
  if (folder == nullptr || *folder == '\0') folder = "/dev/shm";
  const int file = MakeFile(folder);
  if (file < 0) return nullptr;
  constexpr size_t kBytes = sizeof(shm::ProfilerSegment);
  void* memory = MAP_FAILED;
  if (posix_fallocate(file, 0, kBytes) == 0) {
    memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory != MAP_FAILED) return memory;
  unlink(file_path);
  return nullptr;
}

}  // namespace

shm::ProfilerSegment* OpenSegment() {
  if (segment != nullptr && segment->header.pid == getpid()) return segment;
  segment = nullptr;
  const char* wanted = getenv("FAIRLEAD_PROFILER");
  if (wanted != nullptr && strcmp(wanted, "0") == 0) return nullptr;
  void* memory = MapFile();
  if (memory == nullptr) return nullptr;
  segment = new (memory) shm::ProfilerSegment;
  FillHeader(&segment->header);
  // A reader that sees the number finds the rest.
  std::atomic_ref<uint64_t>(segment->header.magic).store(shm::kSegmentMagic, std::memory_order_release);
  return segment;
}

void RemoveSegmentFile() {
  if (segment != nullptr && segment->header.pid == getpid()) unlink(file_path);
}

}  // namespace fairlead::ccl
