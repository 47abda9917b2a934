// nccl-cost-rank FOLDER COMMUNICATORS OPERATIONS: what a rank's communication costs, in order to compare it with and
// without a profiler plugin.
//
// Splits the communicator of all ranks so many times, without a change, and prints for each "first MS", the time that
// the call of its first all-reduce takes (with NCCL_RUNTIME_CONNECT=0, or it is that of connecting); then for the first
// of them "each US", of so many all-reduces of a number each, and "enqueue US", the share of the call.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rank/job.h"

namespace fairlead::nccl_host {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void Reduce(const DeviceBuffer& number, ncclComm_t communicator, cudaStream_t stream) {
  FAIRLEAD_NCCL(ncclAllReduce(number.data(), number.data(), 1, ncclFloat32, ncclMax, communicator, stream));
}

void Measure(const std::string& folder, int num_communicators, int num_operations) {
  const Place place = PlaceFromEnvironment();
  const ncclComm_t all = JoinAll(place, folder, "all");
  cudaStream_t stream;
  FAIRLEAD_NCCL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const DeviceBuffer number(sizeof(float));
  Reduce(number, all, stream);  // all are there
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream));
  std::vector<ncclComm_t> splits(static_cast<size_t>(num_communicators));
  for (ncclComm_t& split : splits) {
    FAIRLEAD_NCCL(ncclCommSplit(all, 0, place.rank, &split, nullptr));
    const auto begin = Clock::now();
    Reduce(number, split, stream);
    printf("first %.3f\n", MicrosecondsSince(begin) / 1000);
    FAIRLEAD_NCCL(cudaStreamSynchronize(stream));
  }
  double in_call = 0;
  const auto begin = Clock::now();
  for (int i = 0; i < num_operations; ++i) {
    const auto called = Clock::now();
    Reduce(number, splits[0], stream);
    in_call += MicrosecondsSince(called);
    FAIRLEAD_NCCL(cudaStreamSynchronize(stream));
  }
  printf("each %.2f\nenqueue %.2f\n", MicrosecondsSince(begin) / num_operations, in_call / num_operations);
  for (const ncclComm_t split : splits) FAIRLEAD_NCCL(ncclCommDestroy(split));
  FAIRLEAD_NCCL(ncclCommDestroy(all));
}

}  // namespace
}  // namespace fairlead::nccl_host

int main(int argc, char** argv) {
  if (argc != 4 || atoi(argv[2]) < 1 || atoi(argv[3]) < 1) return 2;
  fairlead::nccl_host::Measure(argv[1], atoi(argv[2]), atoi(argv[3]));
  return 0;
}
