// What every rank of a test's job does: joins the others, and has memory, a stream, and calls that must succeed.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <string>

namespace fairlead::nccl_host {

// Ends the process with a message unless the call succeeded.
void Check(ncclResult_t result, const char* call);
void Check(cudaError_t result, const char* call);
#define FAIRLEAD_NCCL(call) ::fairlead::nccl_host::Check((call), #call)

// Its place, from RANK and WORLD_SIZE, as torchrun gives them.
struct Place {
  int rank = 0;
  int num_ranks = 1;
};
Place PlaceFromEnvironment();

// A communicator of ranks that meet by a file, which the first one makes. Args: file: its path; name: of the
// communicator. The device is set.
ncclComm_t Join(const Place& place, const std::string& file, const char* name);
// The same of all ranks of the job, each with a device of its own, by a file in `folder`.
ncclComm_t JoinAll(const Place& place, const std::string& folder, const char* name);

// Memory of the simulated GPU.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // The test itself may look at it: it is the host's memory.
  void Fill(std::byte value);

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

// A file that appears at once with all of its content.
void PublishFile(const std::string& path, const std::string& content);

}  // namespace fairlead::nccl_host
