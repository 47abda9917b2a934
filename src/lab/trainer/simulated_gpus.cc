#include "lab/trainer/simulated_gpus.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/descriptor.h"

namespace fairlead::lab {

void SimulatedGpus::Unmap::operator()(shm::GpuCounters* counters) const {
  munmap(counters, sizeof(shm::GpuCounters));
  unlink(path.c_str());
}

Result<SimulatedGpus> SimulatedGpus::Create(const std::string& folder, const std::string& job, uint32_t num_gpus) {
  FL_CHECK(num_gpus >= 1);
  const std::string path = fmt::format("{}/{}", folder, getpid());
  const std::string unfinished = path + ".new";
  const auto fail = [&] {
    return Unavailable(fmt::format("{}: counters of GPUs can't be made: {}", unfinished, std::strerror(errno)));
  };
  const Descriptor file(open(unfinished.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open() || ftruncate(file.get(), sizeof(shm::GpuCounters)) != 0) return fail();
  void* const memory = mmap(nullptr, sizeof(shm::GpuCounters), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return fail();
  auto* const counters = new (memory) shm::GpuCounters{};
  std::unique_ptr<shm::GpuCounters, Unmap> held(counters, Unmap{path});
  counters->magic = shm::kGpuCountersMagic;
  counters->version = shm::kGpuCountersVersion;
  counters->pid = getpid();
  counters->num_gpus = num_gpus;
  std::strncpy(counters->job, job.c_str(), sizeof(counters->job) - 1);
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) return fail();
  return SimulatedGpus(std::move(held));
}

void SimulatedGpus::Add(double flop, double seconds) {
  counters_->flop.store(counters_->flop.load(std::memory_order_relaxed) + flop, std::memory_order_relaxed);
  const double busy_ns = seconds * 1e9 * counters_->num_gpus;
  counters_->busy_ns.store(counters_->busy_ns.load(std::memory_order_relaxed) + static_cast<uint64_t>(busy_ns),
                           std::memory_order_relaxed);
}

}  // namespace fairlead::lab
