// The ten unit operations on a job of parameter servers and workers: one more or one less server, worker, core of a
// server, core of a worker, GPU.
//
// Limits are data: an operation that leaves them does not exist (nullopt), it is never a large number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fairlead::scheduling {

// How a job of parameter servers and workers is laid out.
struct PsWorkerConfig {
  uint32_t num_ps = 1;
  uint32_t num_workers = 1;
  uint32_t cores_per_ps = 1;
  uint32_t cores_per_worker = 1;
  uint32_t num_gpus = 0;  // of all workers; a worker without a GPU computes on its cores

  uint32_t num_cores() const { return num_ps * cores_per_ps + num_workers * cores_per_worker; }
  friend bool operator==(const PsWorkerConfig&, const PsWorkerConfig&) = default;
};

struct PsWorkerLimits {
  PsWorkerConfig min;
  PsWorkerConfig max{.num_ps = 10, .num_workers = 4, .cores_per_ps = 5, .cores_per_worker = 5, .num_gpus = 4};
  uint32_t max_gpus_per_worker = 1;
  // A worker comes and goes with one GPU: for jobs that compute on GPUs only.
  bool worker_brings_gpu = false;
};

// Every number between the limits, and no more GPUs than the workers may have.
bool IsWithin(const PsWorkerConfig& config, const PsWorkerLimits& limits);

enum class UnitOperation : uint8_t {
  kAddPs,
  kAddWorker,
  kAddPsCore,
  kAddWorkerCore,
  kAddGpu,
  kRemovePs,
  kRemoveWorker,
  kRemovePsCore,
  kRemoveWorkerCore,
  kRemoveGpu,
};
inline constexpr size_t kNumUnitOperations = 10;

constexpr std::array<UnitOperation, kNumUnitOperations> AllUnitOperations() {
  std::array<UnitOperation, kNumUnitOperations> all{};
  for (size_t i = 0; i < kNumUnitOperations; ++i) all[i] = static_cast<UnitOperation>(i);
  return all;
}
constexpr bool IsIncrease(UnitOperation op) { return op < UnitOperation::kRemovePs; }
// The operation on the same resource in the other direction.
constexpr UnitOperation Opposite(UnitOperation op) {
  const auto index = static_cast<size_t>(op);
  return static_cast<UnitOperation>((index + kNumUnitOperations / 2) % kNumUnitOperations);
}
// "+ps", "-cpu(worker)".
std::string_view UnitOperationName(UnitOperation op);

// The configuration after `op`; nullopt when it would leave the limits.
std::optional<PsWorkerConfig> Apply(UnitOperation op, const PsWorkerConfig& config, const PsWorkerLimits& limits);

// What an operation saves: service that remains now less what would remain after it. Negative: it costs.
struct OperationGain {
  UnitOperation operation;
  double gain = 0;
};

}  // namespace fairlead::scheduling
