#include "lab/awake_processors.h"

#include <sched.h>

#include <fstream>
#include <functional>
#include <string>

namespace fairlead::lab {
namespace {

void StayAwake(int processor, const std::atomic<bool>& stop) {
  const sched_param no_priority = {};
  // At any other policy it would take time from working processes.
  if (sched_setscheduler(0, SCHED_IDLE, &no_priority) != 0) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  if (sched_setaffinity(0, sizeof(own), &own) != 0) return;
  while (!stop.load(std::memory_order_relaxed)) {
  }
}

}  // namespace

bool IsVirtualMachine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return line.find(" hypervisor") != std::string::npos;
  }
  return false;
}

AwakeProcessors::AwakeProcessors(bool is_needed) {
  cpu_set_t usable;
  if (!is_needed || sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &usable)) threads_.emplace_back(StayAwake, processor, std::cref(stop_));
  }
}

AwakeProcessors::~AwakeProcessors() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace fairlead::lab
