// nccl-check-rank FOLDER types|shapes: one rank of a job that does every collective and compares the results with plain
// loops: of all types and operations, or of one type in many sizes and in other ways.
//
// Ends with 1 where a result is wrong. When all is right, it writes FOLDER/done-RANK: a line "version NUMBER" of NCCL's
// version, and a line "NAME NUMBER" for each kind of operation that it enqueued on the communicator of all ranks. Then
// it waits for the end of its standard input before it destroys that communicator.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "rank/checks.h"
#include "rank/job.h"

namespace fairlead::nccl_host {
namespace {

constexpr ncclDataType_t kTypes[] = {ncclInt8,   ncclUint8,   ncclInt32,   ncclUint32,  ncclInt64,
                                     ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16};
constexpr ncclRedOp_t kOperations[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};

// From a part of a line to several rounds of a ring, where buffers are small; odd ones among them.
constexpr size_t kCounts[] = {1, 999, 32'768, 100'003};

void RunTypes(Checks* checks) {
  for (const ncclDataType_t type : kTypes) {
    for (const ncclRedOp_t operation : kOperations) {
      checks->AllReduce(type, operation, 1021, operation == ncclSum);
    }
    checks->ReduceScatter(type, ncclSum, 517, false);
    checks->AllGather(type, 333, false);
  }
  checks->ScaledSum(2000, 0.25);
}

void RunShapes(Checks* checks, int num_ranks) {
  for (const size_t count : kCounts) {
    checks->AllReduce(ncclFloat32, ncclSum, count, false);
    checks->AllGather(ncclFloat32, count / 4 + 1, count % 2 == 0);
    checks->ReduceScatter(ncclFloat32, ncclSum, count / 4 + 1, count % 2 == 0);
    checks->Broadcast(ncclFloat32, count, static_cast<int>(count) % num_ranks, count % 2 == 0);
    checks->Reduce(ncclFloat32, ncclSum, count, static_cast<int>(count) % num_ranks);
    checks->SendAround(count);
    checks->Group(count / 4 + 1);
  }
  for (int root = 0; root < num_ranks; ++root) checks->Broadcast(ncclInt64, 5000, root, false);
  checks->SendAround(0);
}

// On a communicator of its own: NCCL before 2.28 tells its profiler of the first only of the sends and receives of a
// group that share a proxy, so that the sums of its two ends differ.
void RunAllToAll(ncclComm_t all, const Place& place, cudaStream_t stream) {
  ncclComm_t own = nullptr;
  FAIRLEAD_NCCL(ncclCommSplit(all, 0, place.rank, &own, nullptr));
  Checks(own, place.rank, place.num_ranks, stream).AllToAll(10'000);
  FAIRLEAD_NCCL(ncclCommDestroy(own));
}

// Half of the ranks each, by the lowest bit, which turns their order around; then all of them again.
void RunOnHalves(ncclComm_t all, const Place& place, cudaStream_t stream) {
  ncclComm_t half = nullptr;
  FAIRLEAD_NCCL(ncclCommSplit(all, place.rank % 2, -place.rank, &half, nullptr));
  int rank = -1, num_ranks = 0;
  FAIRLEAD_NCCL(ncclCommUserRank(half, &rank));
  FAIRLEAD_NCCL(ncclCommCount(half, &num_ranks));
  int expected = 0;  // those of the half that are behind it
  for (int other = place.rank + 2; other < place.num_ranks; other += 2) ++expected;
  if (rank != expected) {
    fprintf(stderr, "rank %d: expected rank %d of the half, found %d\n", place.rank, expected, rank);
    exit(1);
  }
  Checks checks(half, rank, num_ranks, stream);
  checks.AllReduce(ncclFloat32, ncclSum, 50'000, false);
  checks.AllGather(ncclFloat32, 1000, false);
  FAIRLEAD_NCCL(ncclCommDestroy(half));
}

}  // namespace
}  // namespace fairlead::nccl_host

using namespace fairlead::nccl_host;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string folder = argv[1], what = argv[2];
  const Place place = PlaceFromEnvironment();
  const ncclComm_t all = JoinAll(place, folder, "all");
  cudaStream_t stream;
  FAIRLEAD_NCCL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Checks checks(all, place.rank, place.num_ranks, stream);
  if (what == "types") {
    RunTypes(&checks);
  } else {
    RunShapes(&checks, place.num_ranks);
    RunAllToAll(all, place, stream);
  }
  RunOnHalves(all, place, stream);
  checks.AllReduce(ncclFloat32, ncclSum, 1000, false);
  int version = 0;
  FAIRLEAD_NCCL(ncclGetVersion(&version));
  std::string counts = "version " + std::to_string(version) + "\n";
  for (const auto& [name, number] : checks.counts()) counts += name + " " + std::to_string(number) + "\n";
  PublishFile(folder + "/done-" + std::to_string(place.rank), counts);
  char end = 0;
  while (read(STDIN_FILENO, &end, 1) > 0) {
  }
  FAIRLEAD_NCCL(ncclCommDestroy(all));
  FAIRLEAD_NCCL(cudaStreamDestroy(stream));
  return 0;
}
