// Collectives whose results a rank compares with plain loops over what all ranks have put in.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fairlead::nccl_host {

// One rank's side. A value of a result that is not as it should be ends the process with a message.
class Checks {
 public:
  // Args: communicator: of `num_ranks`, where this one is `rank`.
  Checks(ncclComm_t communicator, int rank, int num_ranks, cudaStream_t stream);

  // Each: count elements (all-gather, reduce-scatter: of each rank). In place: as NCCL defines it for the collective.
  void AllReduce(ncclDataType_t type, ncclRedOp_t operation, size_t count, bool in_place);
  void AllGather(ncclDataType_t type, size_t count, bool in_place);
  void ReduceScatter(ncclDataType_t type, ncclRedOp_t operation, size_t count, bool in_place);
  void Broadcast(ncclDataType_t type, size_t count, int root, bool in_place);
  void Reduce(ncclDataType_t type, ncclRedOp_t operation, size_t count, int root);
  // Each sends to the next rank, and receives from the one before.
  void SendAround(size_t bytes);
  // Each sends a different number of bytes to each rank, also to itself and also none, in one group.
  void AllToAll(size_t unit);
  // Several collectives of different kinds and sizes in one group, as one launch.
  void Group(size_t count);
  // A sum of products with a factor, which lies in device memory.
  void ScaledSum(size_t count, double factor);

  // How many of each were enqueued, by NCCL's names.
  const std::map<std::string, size_t>& counts() const { return counts_; }

 private:
  // What ranks put in: different for each check, and such that results are exact in the type.
  void Begin(ncclDataType_t type, ncclRedOp_t operation);
  double ValueOf(int rank, size_t i) const;
  double Reduced(ncclRedOp_t operation, ncclDataType_t type, size_t i) const;
  void PutInput(ncclDataType_t type, std::byte* to, size_t count, size_t first);
  void Count(const std::string& name, size_t number = 1);
  void Expect(const std::string& what, size_t i, double expected, double found) const;

  ncclComm_t communicator_;
  int rank_;
  int num_ranks_;
  cudaStream_t stream_;
  std::map<std::string, size_t> counts_;
  uint64_t num_checks_ = 0;
  bool is_short_ = false;
  bool is_product_ = false;
};

}  // namespace fairlead::nccl_host
