// Keeps the processors of a virtual machine from sleeping while something is measured there.
//
// A lab has thousands of packets in a second and idles between them. A virtual processor that idles is taken away by
// its host, and comes back late where the host is busy. Measured on two such processors, eight jobs of a lab and
// nothing else: without one for 12 to 63 % of the time, 75 to 97 % of what seven of eight links carry; with this 1 to
// 4 %, and 97 %.
//
// Cost        all of the processors' idle time, and nothing else: the threads have the policy SCHED_IDLE. Nothing on a
//             machine of metal.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace fairlead::lab {

// Whether it runs on a hypervisor, as far as /proc/cpuinfo says.
bool IsVirtualMachine();

class AwakeProcessors {
 public:
  // Args: is_needed: false: does nothing.
  explicit AwakeProcessors(bool is_needed = IsVirtualMachine());
  ~AwakeProcessors();
  AwakeProcessors(const AwakeProcessors&) = delete;
  AwakeProcessors& operator=(const AwakeProcessors&) = delete;

  size_t num_threads() const { return threads_.size(); }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;  // one for each processor that we may use
};

}  // namespace fairlead::lab
