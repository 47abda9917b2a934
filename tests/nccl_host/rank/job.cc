#include "rank/job.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace fairlead::nccl_host {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "rank %s: %s\n", getenv("RANK"), what.c_str());
  exit(1);
}

int NumberOf(const char* name) {
  const char* const text = getenv(name);
  if (text == nullptr) Fail(std::string(name) + " is not set");
  return atoi(text);
}

std::string WaitForFile(const std::string& path, size_t bytes) {
  for (;;) {
    std::ifstream file(path, std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), {}};
    if (content.size() == bytes) return content;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

void Check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  Fail(std::string(call) + ": " + ncclGetErrorString(result) + ": " + ncclGetLastError(nullptr));
}
void Check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) Fail(std::string(call) + ": " + cudaGetErrorString(result));
}

Place PlaceFromEnvironment() { return {.rank = NumberOf("RANK"), .num_ranks = NumberOf("WORLD_SIZE")}; }

void PublishFile(const std::string& path, const std::string& content) {
  std::ofstream(path + "~", std::ios::binary) << content;
  std::filesystem::rename(path + "~", path);
}

ncclComm_t Join(const Place& place, const std::string& file, const char* name) {
  ncclUniqueId id;
  if (place.rank == 0) {
    FAIRLEAD_NCCL(ncclGetUniqueId(&id));
    PublishFile(file, std::string(id.internal, sizeof id.internal));
  } else {
    memcpy(id.internal, WaitForFile(file, sizeof id.internal).data(), sizeof id.internal);
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = name;
  ncclComm_t communicator = nullptr;
  FAIRLEAD_NCCL(ncclCommInitRankConfig(&communicator, place.num_ranks, id, place.rank, &config));
  return communicator;
}

ncclComm_t JoinAll(const Place& place, const std::string& folder, const char* name) {
  FAIRLEAD_NCCL(cudaSetDevice(place.rank % 8));
  return Join(place, folder + "/unique-id", name);
}

DeviceBuffer::DeviceBuffer(size_t bytes) : bytes_(bytes) {
  void* address = nullptr;
  FAIRLEAD_NCCL(cudaMalloc(&address, bytes));
  data_ = static_cast<std::byte*>(address);
}
DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }
void DeviceBuffer::Fill(std::byte value) { memset(data_, std::to_integer<int>(value), bytes_); }

}  // namespace fairlead::nccl_host
