#include "kernels/launch.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "kernels/block.h"
#include "kernels/tables.h"
#include "kernels/works.h"

namespace fairlead::nccl_host {
namespace {

// What a block finds in the arguments: a list of batches of works, all of a batch by the same function.
struct Batch {
  ncclDevWorkType type = ncclDevWorkTypeColl;
  uint32_t function = 0;
  std::vector<std::byte*> works;
};

[[noreturn]] void GiveUp(const char* what, const CollectiveKind& kind) {
  fprintf(stderr,
          "nccl_host: %s: function %d, operation %d, type %d, algorithm %d, protocol %d; "
          "set NCCL_ALGO=Ring,Tree NCCL_PROTO=Simple,LL\n",
          what, kind.function, kind.operation, kind.type, kind.algorithm, kind.protocol);
  abort();
}

// The works of a batch lie among the arguments or in a ring buffer of the communicator.
std::byte* WorkAt(const ncclDevKernelArgs& args, uint32_t offset) {
  if (args.workStorageType == ncclDevWorkStorageTypeArgs) {
    return reinterpret_cast<std::byte*>(const_cast<ncclDevKernelArgs*>(&args)) + offset;
  }
  return static_cast<std::byte*>(args.workBuf) + (offset & args.workMask);
}

// Args: index: of the batch; afterwards that of the next one, -1: this was the last one.
Batch ReadBatch(const ncclDevKernelArgs& args, int* index) {
  const auto* const batches = reinterpret_cast<const ncclDevWorkBatch*>(&args + 1);
  Batch read;
  for (;;) {
    const ncclDevWorkBatch& batch = batches[*index];
    read.type = static_cast<ncclDevWorkType>(batch.workType);
    read.function = batch.funcId;
    for (uint32_t i = 0; i < 64; ++i) {
      if ((batch.offsetBitset >> i & 1) == 0) continue;
      read.works.push_back(WorkAt(args, batch.offsetBase + i * static_cast<uint32_t>(ncclDevWorkSize(read.type))));
    }
    const int jump = static_cast<int>(batch.nextJump);
    *index = jump == 0 ? -1 : *index + jump;
    if (!batch.nextExtends) return read;
  }
}

uint64_t GpuTimerNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool IsProfiled(const Batch& batch, size_t i) {
  if (batch.type == ncclDevWorkTypeP2p) return reinterpret_cast<ncclDevWorkP2p*>(batch.works[i])->profilerEnabled;
  return reinterpret_cast<ncclDevWorkColl*>(batch.works[i])->profilerEnabled;
}

// Tells NCCL's proxy, and through it the profiler, that works of the channel have begun or ended.
// Args: first: number of the batch's first work among all of the channel, from 1.
void Mark(const Block& block, ncclDevProfiler* marks, const Batch& batch, uint64_t first) {
  for (size_t i = 0; i < batch.works.size(); ++i) {
    if (!IsProfiled(batch, i)) continue;
    auto& mark = marks[block.channel_id].data[(first + i) % MAX_PROFILER_EVENTS_PER_CHANNEL];
    __atomic_store_n(&mark.timestamp, GpuTimerNs(), __ATOMIC_RELAXED);
    __atomic_store_n(&mark.counter, first + i, __ATOMIC_RELEASE);
  }
}

void RunBatch(Block* block, const Batch& batch) {
  if (batch.type == ncclDevWorkTypeP2p) {
    std::vector<ncclDevWorkP2p*> works;
    for (std::byte* const work : batch.works) works.push_back(reinterpret_cast<ncclDevWorkP2p*>(work));
    return RunSendsAndReceives(block, works.data(), works.size());
  }
  const CollectiveKind kind = KindOfFunction(static_cast<int>(batch.function));
  if (batch.type != ncclDevWorkTypeColl) GiveUp("registered buffers are not simulated", kind);
  for (std::byte* const work : batch.works) {
    if (!RunCollective(block, kind, reinterpret_cast<ncclDevWorkColl*>(work))) GiveUp("not simulated", kind);
  }
}

void RunBlock(const ncclDevKernelArgs& args, int index, uint32_t channel) {
  Block block;
  block.comm = args.comm;
  block.channel = &args.comm->channels[channel];
  block.channel_id = channel;
  while (index >= 0 && !block.is_aborted) {
    const Batch batch = ReadBatch(args, &index);
    const uint64_t first = block.channel->workCounter + 1;
    Mark(block, args.comm->workStarted, batch, first);
    RunBatch(&block, batch);
    Mark(block, args.comm->workCompleted, batch, first);
    block.channel->workCounter += batch.works.size();
  }
}

}  // namespace

void RunKernel(const void* arguments, unsigned num_blocks) {
  const auto& args = *static_cast<const ncclDevKernelArgs*>(arguments);
  std::vector<std::thread> blocks;
  int index = 0;
  for (uint32_t channel = 0; channel < MAXCHANNELS; ++channel) {
    if ((args.channelMask >> channel & 1) == 0) continue;
    blocks.emplace_back([&args, index, channel] { RunBlock(args, index, channel); });
    ++index;
  }
  if (blocks.size() != num_blocks) {
    fprintf(stderr, "nccl_host: %u blocks for %zu channels\n", num_blocks, blocks.size());
    abort();
  }
  for (std::thread& block : blocks) block.join();
}

}  // namespace fairlead::nccl_host
