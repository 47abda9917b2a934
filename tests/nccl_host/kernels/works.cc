#include "kernels/works.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/ring.h"
#include "kernels/warps.h"

namespace fairlead::nccl_host {
namespace {

Slicing SlicingOf(int function) {
  const auto of = [](int chunk_steps, int slice_steps) {
    return Slicing{.slices_per_chunk = chunk_steps / slice_steps, .steps_per_slice = slice_steps};
  };
  switch (function) {
    case ncclFuncAllReduce:
      return of(ALLREDUCE_CHUNKSTEPS, ALLREDUCE_SLICESTEPS);
    case ncclFuncAllGather:
      return of(ALLGATHER_CHUNKSTEPS, ALLGATHER_SLICESTEPS);
    case ncclFuncReduceScatter:
      return of(REDUCESCATTER_CHUNKSTEPS, REDUCESCATTER_SLICESTEPS);
    case ncclFuncBroadcast:
      return of(BROADCAST_CHUNKSTEPS, BROADCAST_SLICESTEPS);
    default:
      return of(REDUCE_CHUNKSTEPS, REDUCE_SLICESTEPS);
  }
}

Part PartOf(const Block& block, ncclDevWorkColl* work, int protocol, size_t element_bytes) {
  Part part;
  ncclCollCbdPart(work, block.channel_id, protocol, static_cast<int>(element_bytes), &part.total, &part.begin,
                  &part.count, &part.chunk);
  return part;
}

WarpsOptions OptionsOf(ncclDevWorkColl* work, int protocol, const Arithmetic* arithmetic) {
  return {.protocol = protocol,
          .input = static_cast<const std::byte*>(work->sendbuff),
          .output = static_cast<std::byte*>(work->recvbuff),
          .arithmetic = arithmetic};
}

bool RunRing(Block* block, const CollectiveKind& kind, ncclDevWorkColl* work, const Arithmetic& arithmetic) {
  const ncclRing& from = block->channel->ring;
  const Ring ring{.num_ranks = block->comm->nRanks, .position = from.index, .user_ranks = from.userRanks};
  const Part part = PartOf(*block, work, kind.protocol, arithmetic.element_bytes());
  WarpsOptions options = OptionsOf(work, kind.protocol, &arithmetic);
  options.slicing = SlicingOf(kind.function);
  const std::byte* const input = options.input;
  std::byte* const output = options.output;
  options.sources = {from.prev};
  options.targets = {from.next};
  Warps warps(block, std::move(options));
  const auto root = static_cast<int>(work->root);
  switch (kind.function) {
    case ncclFuncAllReduce:
      RingAllReduce(ring, part, arithmetic.element_bytes(), &warps);
      return true;
    case ncclFuncAllGather:
      RingAllGather(ring, part, input, output, &warps);
      return true;
    case ncclFuncReduceScatter:
      RingReduceScatter(ring, part, &warps);
      return true;
    case ncclFuncBroadcast:
      RingBroadcast(ring, part, root, input == output, &warps);
      return true;
    case ncclFuncReduce:
      RingReduce(ring, part, root, &warps);
      return true;
    default:
      return false;
  }
}

// Moves the part up or down the tree, chunk by chunk.
void MoveAll(Block* block, WarpsOptions options, const Part& part, const Move& move) {
  Warps warps(block, std::move(options));
  for (ptrdiff_t at = 0; at < part.count; at += part.chunk) {
    Move chunk = move;
    if (move.input_at) chunk.input_at = static_cast<size_t>(part.begin + at);
    if (move.output_at) chunk.output_at = static_cast<size_t>(part.begin + at);
    warps.Do(chunk, std::min(part.chunk, part.count - at));
  }
}

// Sums go up and results go down at the same time, by two groups of warps; at the root one does both.
void TreeAllReduce(Block* block, const CollectiveKind& kind, ncclDevWorkColl* work, const Arithmetic& arithmetic) {
  const ncclTree& tree = block->channel->tree;
  const Part part = PartOf(*block, work, kind.protocol, arithmetic.element_bytes());
  std::vector<int> children;
  for (const int child : tree.down) {
    if (child >= 0) children.push_back(child);
  }
  WarpsOptions up = OptionsOf(work, kind.protocol, &arithmetic);
  WarpsOptions down = up;
  up.sources = children;
  down.targets = children;
  if (tree.up < 0) {
    up.targets = children;
    return MoveAll(block, std::move(up), part,
                   {.input_at = 0, .output_at = 0, .receives = true, .sends = true, .is_final = true});
  }
  up.targets = {tree.up};
  down.sources = {tree.up};
  std::thread reducing(
      [&] { MoveAll(block, std::move(up), part, {.input_at = 0, .receives = !children.empty(), .sends = true}); });
  MoveAll(block, std::move(down), part, {.output_at = 0, .receives = true, .sends = !children.empty()});
  reducing.join();
}

// ---- Sends and receives ----

// The chunk may be less than a step, and one that is empty is sent, too.
void TransferAll(Block* block, WarpsOptions options, size_t chunk, size_t bytes) {
  const bool is_send = !options.targets.empty();
  options.connector = 1;
  options.step_bytes = static_cast<size_t>(block->comm->p2pChunkSize);
  Warps warps(block, std::move(options));
  size_t at = 0;
  do {
    const size_t count = std::min(chunk, bytes - at);
    if (is_send) {
      warps.Do({.input_at = at, .sends = true}, static_cast<ptrdiff_t>(count));
    } else {
      warps.Do({.output_at = at, .receives = true}, static_cast<ptrdiff_t>(count));
    }
    at += count;
  } while (at < bytes);
}

// This channel's part of a transfer of `bytes` in so many parts; nothing if it has none.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};
std::optional<Range> RangeOf(const Block& block, const ncclDevWorkP2p& work, int num_parts, size_t bytes) {
  const int part = ncclP2pChannelToPart(work.nP2pChannels, work.channelBase, static_cast<int>(block.channel_id));
  if (part >= num_parts) return std::nullopt;
  Range range;
  ncclP2pPartBounds(num_parts, part, bytes, &range.begin, &range.end);
  return range;
}

}  // namespace

bool RunCollective(Block* block, const CollectiveKind& kind, ncclDevWorkColl* work) {
  const auto arithmetic = ArithmeticOf(kind.operation, kind.type, work->redOpArg, work->redOpArgIsPtr);
  if (arithmetic == nullptr) return false;
  if (kind.protocol != NCCL_PROTO_SIMPLE && kind.protocol != NCCL_PROTO_LL) return false;
  if (work->regUsed || work->netRegUsed) return false;
  if (kind.algorithm == NCCL_ALGO_RING) return RunRing(block, kind, work, *arithmetic);
  if (kind.algorithm != NCCL_ALGO_TREE || kind.function != ncclFuncAllReduce) return false;
  TreeAllReduce(block, kind, work, *arithmetic);
  return true;
}

void RunSendsAndReceives(Block* block, ncclDevWorkP2p* const* works, size_t num_works) {
  const auto bytes_as_they_are = ArithmeticOf(ncclDevSum, ncclUint8, 0, false);
  std::vector<std::thread> transfers;
  for (size_t i = 0; i < num_works; ++i) {
    const ncclDevWorkP2p& work = *works[i];
    const auto sent = RangeOf(*block, work, work.nSendChannels, work.sendBytes);
    const auto received = RangeOf(*block, work, work.nRecvChannels, work.recvBytes);
    const auto* const input = static_cast<const std::byte*>(work.sendAddr);
    auto* const output = static_cast<std::byte*>(work.recvAddr);
    if (work.sendRank == block->comm->rank) {
      if (sent) memmove(output + sent->begin, input + sent->begin, sent->end - sent->begin);
      continue;
    }
    const auto begin = [&](WarpsOptions options, bool is_ll, uint8_t chunk, size_t bytes) {
      options.protocol = is_ll ? NCCL_PROTO_LL : NCCL_PROTO_SIMPLE;
      options.arithmetic = bytes_as_they_are.get();
      transfers.emplace_back([block, options = std::move(options), chunk, bytes] {
        TransferAll(block, options, u32fp8Decode(chunk), bytes);
      });
    };
    if (sent) {
      begin({.targets = {work.sendRank}, .input = input + sent->begin}, work.sendProtoLL, work.sendChunkSize_u32fp8,
            sent->end - sent->begin);
    }
    if (received) {
      begin({.sources = {work.recvRank}, .output = output + received->begin}, work.recvProtoLL,
            work.recvChunkSize_u32fp8, received->end - received->begin);
    }
  }
  for (std::thread& transfer : transfers) transfer.join();
}

}  // namespace fairlead::nccl_host
