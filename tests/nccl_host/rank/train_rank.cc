// nccl-train-rank FOLDER ITERATION_MS BUCKETS BUCKET_BYTES: one rank of a data-parallel job on real NCCL.
//
// Rhythm      forward, then backward in which the gradients of a bucket are reduced as soon as they are there, beside
//             the computing of the next bucket's; the step of the optimizer; and the loss, which the host waits for.
//             Computing is sleep on a stream, one part of three forward and two backward. The host runs ahead of its
//             streams within an iteration, and no further.
// Results     every reduced gradient and loss is compared with what it has to be; a wrong one ends the process with 1.
// Told        FOLDER/iteration-RANK   written: how many iterations this rank has completed
// by files    FOLDER/late-RANK        while it is there, this rank does not begin another iteration
//             FOLDER/slow-RANK        while it is there, computing takes so many times as long as the number in it
//             FOLDER/stop             read by rank 0: all end after this iteration, and leave their communicator
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rank/job.h"

namespace fairlead::nccl_host {
namespace {

namespace fs = std::filesystem;
using Duration = std::chrono::duration<double>;

struct Options {
  std::string folder;
  Duration iteration{0};
  size_t num_buckets = 1;
  size_t bucket_bytes = 4;
};

// On a stream, as a kernel would be.
void Compute(cudaStream_t stream, Duration time) {
  const auto sleep = [](void* data) {
    const std::unique_ptr<Duration> wanted(static_cast<Duration*>(data));
    std::this_thread::sleep_for(*wanted);
  };
  FAIRLEAD_NCCL(cudaLaunchHostFunc(stream, sleep, new Duration(time)));
}

class Trainer {
 public:
  Trainer(const Place& place, Options options)
      : place_(place), options_(std::move(options)), all_(JoinAll(place, options_.folder, "data")) {
    FAIRLEAD_NCCL(cudaStreamCreateWithFlags(&computing_, cudaStreamNonBlocking));
    FAIRLEAD_NCCL(cudaStreamCreateWithFlags(&reducing_, cudaStreamNonBlocking));
    FAIRLEAD_NCCL(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    for (size_t i = 0; i < options_.num_buckets; ++i) {
      gradients_.push_back(std::make_unique<DeviceBuffer>(options_.bucket_bytes));
    }
  }

  // Until all are told to stop.
  void Run() {
    while (Iterate()) {
    }
    FAIRLEAD_NCCL(ncclCommDestroy(all_));
  }

 private:
  bool Iterate() {
    while (fs::exists(FileOf("late"))) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const Duration part = options_.iteration * Slowness() / (3 * (static_cast<double>(options_.num_buckets) + 1));
    const auto gradient = static_cast<float>(place_.rank + 1 + iterations_ % 4);
    Compute(computing_, part * static_cast<double>(options_.num_buckets));  // forward
    for (const auto& bucket : gradients_) {
      Fill(bucket.get(), gradient);
      Compute(computing_, 2 * part);
      After(computing_, reducing_);
      FAIRLEAD_NCCL(ncclAllReduce(bucket->data(), bucket->data(), options_.bucket_bytes / sizeof(float), ncclFloat32,
                                  ncclSum, all_, reducing_));
    }
    After(reducing_, computing_);
    Compute(computing_, part);  // the optimizer's step
    const bool goes_on = ReduceLoss();
    for (const auto& bucket : gradients_) Expect(bucket.get(), iterations_ % 4);
    ++iterations_;
    PublishFile(FileOf("iteration"), std::to_string(iterations_));
    return goes_on;
  }

  // The loss of each rank is 1, and that of rank 0 is 2 where all are to stop.
  bool ReduceLoss() {
    const bool is_last = place_.rank == 0 && fs::exists(options_.folder + "/stop");
    *Floats(&loss_) = is_last ? 2 : 1;
    FAIRLEAD_NCCL(ncclAllReduce(loss_.data(), loss_.data(), 1, ncclFloat32, ncclSum, all_, computing_));
    FAIRLEAD_NCCL(cudaStreamSynchronize(computing_));
    const auto ranks = static_cast<float>(place_.num_ranks);
    if (*Floats(&loss_) != ranks && *Floats(&loss_) != ranks + 1) Fail("loss", *Floats(&loss_));
    return *Floats(&loss_) == ranks;
  }

  void Expect(DeviceBuffer* bucket, size_t added) const {
    const size_t ranks = static_cast<size_t>(place_.num_ranks);
    const auto expected = static_cast<float>(ranks * (ranks + 1) / 2 + ranks * added);
    for (size_t i = 0; i < bucket->bytes() / sizeof(float); ++i) {
      if (Floats(bucket)[i] != expected) Fail("gradient", Floats(bucket)[i]);
    }
  }
  [[noreturn]] void Fail(const char* what, float found) const {
    fprintf(stderr, "rank %d, iteration %zu: a %s is %g\n", place_.rank, iterations_, what, found);
    exit(1);
  }

  // What is on `second` from now on comes after what is on `first`.
  void After(cudaStream_t first, cudaStream_t second) {
    FAIRLEAD_NCCL(cudaEventRecord(event_, first));
    FAIRLEAD_NCCL(cudaStreamWaitEvent(second, event_, 0));
  }
  static float* Floats(DeviceBuffer* buffer) { return reinterpret_cast<float*>(buffer->data()); }
  static void Fill(DeviceBuffer* buffer, float value) {
    std::fill_n(Floats(buffer), buffer->bytes() / sizeof(float), value);
  }
  std::string FileOf(const char* name) const {
    return options_.folder + "/" + name + "-" + std::to_string(place_.rank);
  }
  double Slowness() const {
    double factor = 1;
    std::ifstream(FileOf("slow")) >> factor;
    return factor > 0 ? factor : 1;
  }

  const Place place_;
  const Options options_;
  ncclComm_t all_;
  cudaStream_t computing_ = nullptr;
  cudaStream_t reducing_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::vector<std::unique_ptr<DeviceBuffer>> gradients_;
  DeviceBuffer loss_{sizeof(float)};
  size_t iterations_ = 0;
};

}  // namespace
}  // namespace fairlead::nccl_host

using namespace fairlead::nccl_host;

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  Options options{.folder = argv[1],
                  .iteration = std::chrono::milliseconds(atoi(argv[2])),
                  .num_buckets = static_cast<size_t>(atoi(argv[3])),
                  .bucket_bytes = static_cast<size_t>(atol(argv[4]))};
  Trainer(PlaceFromEnvironment(), std::move(options)).Run();
  return 0;
}
