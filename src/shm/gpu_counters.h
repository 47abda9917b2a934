// Work of the GPUs of one process so far: one small file per process, FOLDER/PID, mapped by the process that counts and
// read by the agent of the host (`fairlead agent run --gpu-counters FOLDER`).
//
// On hosts with GPUs the driver counts; where GPUs are emulated (fairlead-trainer in a lab) the emulator does. The file
// is made under another name and renamed when its header is whole. The writer adds at the end of each stretch of
// computing; each sum is one atomic value of its natural size, so none is ever torn, and the reader takes differences
// over seconds, for which it does not matter that two sums are not of the same instant. The agent removes the file of a
// process that has ended. Freestanding: no code but layouts. Never change the layout without a new version.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fairlead::shm {

inline constexpr uint32_t kGpuCountersMagic = 0x47414c46;  // "FLAG", read as bytes
inline constexpr uint32_t kGpuCountersVersion = 1;
inline constexpr size_t kGpuCountersJobBytes = 64;

static_assert(std::atomic<double>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<double>) == 8 && sizeof(std::atomic<uint64_t>) == 8);

struct GpuCounters {
  uint32_t magic;
  uint32_t version;
  int32_t pid;
  uint32_t num_gpus;               // that the sums are of; at least 1
  char job[kGpuCountersJobBytes];  // FAIRLEAD_JOB; ends with a zero byte
  // Sums since the process began, over all its GPUs; they never fall.
  std::atomic<double> flop;       // floating-point operations
  std::atomic<uint64_t> busy_ns;  // time in which a GPU computed
};
static_assert(offsetof(GpuCounters, job) == 16 && offsetof(GpuCounters, flop) == 80);
static_assert(sizeof(GpuCounters) == 96);

}  // namespace fairlead::shm
