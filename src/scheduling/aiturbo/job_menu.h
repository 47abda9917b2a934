// The sizes between which the default variant chooses for one job, of both kinds of job alike: the listed sizes of one
// that only has GPUs, and configurations of parameter servers and workers.
//
// Problem     a job of parameter servers and workers has thousands of configurations; few are worth a look.
// Method      walks of unit operations, from the smallest configuration and from the smallest with a GPU: one by which
//             GPUs are dear, one by which cores are, one by which both are. Each move is the increase that saves most
//             of T for its price; a worker may bring its GPU, or a server. What is in force or asked for belongs to
//             the menu, too.
// Cost        listed sizes: none. Configurations: seven calls of iteration_s for each of some 25 moves of six walks.
// Guarantees  never empty; every choice is within the job's limits; same job, same menu.
// Reference   the unit operations are those of Zhao et al., AITurbo, HPDC 2021; walking along them ahead is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

class JobMenu {
 public:
  // `job` must outlive the menu. Args: total: of the cluster; walks end there.
  JobMenu(const AllocationJob& job, const Resources& total);

  // Listed sizes: ascending. Configurations: by resources, ascending in none in particular.
  std::span<const JobSize> sizes() const { return configs_.empty() ? job_->sizes : own_sizes_; }
  const JobSize& size(uint32_t choice) const { return sizes()[choice]; }
  // Nothing for listed sizes.
  std::optional<PsWorkerConfig> config(uint32_t choice) const;
  // Choices of known time that fit into the cluster, and that no other beats in time, GPUs and cores at once.
  const std::vector<uint32_t>& useful() const { return useful_; }
  // Whether choices ascend in GPUs and in cores: where sizes are listed.
  bool is_ascending() const { return configs_.empty(); }

  uint32_t requested() const { return requested_; }
  // Nothing when the job waits, or holds what is not on the menu.
  std::optional<uint32_t> current() const { return current_; }

 private:
  void WalkConfigs(const Resources& total);
  uint32_t AddConfig(const PsWorkerConfig& config);
  void FindUseful(const Resources& total);

  const AllocationJob* job_;
  std::vector<JobSize> own_sizes_;
  std::vector<PsWorkerConfig> configs_;
  std::vector<uint32_t> useful_;
  uint32_t requested_ = 0;
  std::optional<uint32_t> current_;
};

// [snapshot.jobs]
std::vector<JobMenu> BuildMenus(const AllocationSnapshot& snapshot);

}  // namespace fairlead::scheduling::aiturbo
