// What does a group of warps do with one chunk of a collective?
//
// It takes a chunk from the user's memory, from peers, or both (then they are reduced), and gives it to the user's
// memory, to peers, or both. All of NCCL's algorithms are sequences of such moves.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/arithmetic.h"
#include "kernels/block.h"
#include "kernels/fifo.h"

namespace fairlead::nccl_host {

struct WarpsOptions {
  int protocol = NCCL_PROTO_SIMPLE;
  Slicing slicing;           // of the simple protocol
  size_t step_bytes = 0;     // of the simple protocol; 0: that of the communicator's buffers
  int connector = 0;         // 0: collectives, 1: sends and receives
  std::vector<int> sources;  // peers
  std::vector<int> targets;  // peers
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  const Arithmetic* arithmetic = nullptr;
};

// Offsets are in elements.
struct Move {
  std::optional<size_t> input_at;   // from the user's input
  std::optional<size_t> output_at;  // to the user's output
  bool receives = false;            // from all sources
  bool sends = false;               // to all targets
  bool rereads_output = false;      // without receiving: the user's output at output_at is what is sent
  bool is_final = false;            // nothing is reduced after it
};

class Warps {
 public:
  Warps(Block* block, WarpsOptions options);

  // Args: count: elements; none or less: an empty chunk, for which peers wait all the same.
  void Do(const Move& move, ptrdiff_t count);

 private:
  void DoSlice(const Move& move, size_t offset, size_t count);

  Block* block_;
  WarpsOptions options_;
  std::vector<std::unique_ptr<ReceiveEnd>> sources_;
  std::vector<std::unique_ptr<SendEnd>> targets_;
  std::vector<std::byte> value_;
};

}  // namespace fairlead::nccl_host
