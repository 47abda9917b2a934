// What the threads of one block of a kernel share, and how they wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "collectives.h"  // NCCL's
#include "device.h"

namespace fairlead::nccl_host {

// ncclDevComm, and ncclKernelComm from 2.28 on.
using DeviceComm = std::remove_pointer_t<decltype(ncclDevKernelArgs::comm)>;

struct Block {
  DeviceComm* comm = nullptr;
  ncclDevChannel* channel = nullptr;
  uint32_t channel_id = 0;
  std::atomic<bool> is_aborted = false;

  // Until `is_so` or the communicator is aborted. Between looks it leaves the processor to others, for longer and
  // longer: all the GPUs of a job are on a few cores.
  template <typename IsSo>
  void WaitUntil(const IsSo& is_so) {
    constexpr std::chrono::microseconds kLongest{200};
    std::chrono::microseconds pause{20};
    while (!is_aborted && !is_so()) {
      if (comm->abortFlag != nullptr && *comm->abortFlag != 0) is_aborted = true;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongest);
    }
  }
};

}  // namespace fairlead::nccl_host
