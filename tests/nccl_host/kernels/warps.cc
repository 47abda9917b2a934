#include "kernels/warps.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fairlead::nccl_host {

Warps::Warps(Block* block, WarpsOptions options) : block_(block), options_(std::move(options)) {
  if (options_.step_bytes == 0) {
    options_.step_bytes = static_cast<size_t>(block->comm->buffSizes[NCCL_PROTO_SIMPLE]) / NCCL_STEPS;
  }
  for (const int peer : options_.sources) {
    ncclConnInfo* const connection = &block->channel->peers[peer]->recv[options_.connector];
    sources_.push_back(OpenReceiveEnd(block, connection, options_.protocol, options_.slicing));
  }
  for (const int peer : options_.targets) {
    ncclConnInfo* const connection = &block->channel->peers[peer]->send[options_.connector];
    targets_.push_back(OpenSendEnd(block, connection, options_.protocol, options_.slicing));
  }
}

// Sender, receiver and proxies have to cut a chunk alike: into equal slices of a multiple of 16 elements, none of them
// below a 32nd of the largest one; the last ones may be empty.
void Warps::Do(const Move& move, ptrdiff_t wanted) {
  const auto count = static_cast<size_t>(std::max<ptrdiff_t>(wanted, 0));
  if (options_.protocol == NCCL_PROTO_LL) return DoSlice(move, 0, count);
  const auto num_slices = static_cast<size_t>(options_.slicing.slices_per_chunk);
  const size_t largest = options_.step_bytes / options_.arithmetic->element_bytes() *
                         static_cast<size_t>(options_.slicing.steps_per_slice);
  const size_t equal = (count + 16 * num_slices - 1) / (16 * num_slices) * 16;
  const size_t slice = std::max(equal, largest / 32);
  size_t offset = 0;
  for (size_t i = 0; i < num_slices; ++i) {
    const size_t elements = std::min(slice, count - offset);
    DoSlice(move, offset, elements);
    offset += elements;
  }
}

void Warps::DoSlice(const Move& move, size_t offset, size_t count) {
  const Arithmetic& arithmetic = *options_.arithmetic;
  const size_t element = arithmetic.element_bytes();
  const size_t bytes = count * element;
  value_.resize(bytes);
  bool has_value = false;
  if (move.input_at) {
    if (bytes > 0) memcpy(value_.data(), options_.input + (*move.input_at + offset) * element, bytes);
    arithmetic.Prepare(value_.data(), count);
    has_value = true;
  }
  if (move.rereads_output) {
    if (bytes > 0) memcpy(value_.data(), options_.output + (*move.output_at + offset) * element, bytes);
    has_value = true;
  }
  if (move.receives) {
    for (const auto& source : sources_) {
      const std::byte* const received = source->Await(bytes);
      if (block_->is_aborted) return;
      if (has_value) {
        arithmetic.Reduce(value_.data(), received, count);
      } else if (bytes > 0) {
        memcpy(value_.data(), received, bytes);
      }
      has_value = true;
    }
  }
  if (move.is_final) arithmetic.Finish(value_.data(), count);
  if (move.sends) {
    for (const auto& target : targets_) {
      std::byte* const room = target->Reserve(bytes);
      if (block_->is_aborted) return;
      if (bytes > 0) memcpy(room, value_.data(), bytes);
      target->Post();
    }
  }
  if (move.output_at && !move.rereads_output && bytes > 0) {
    memcpy(options_.output + (*move.output_at + offset) * element, value_.data(), bytes);
  }
  if (move.receives) {
    for (const auto& source : sources_) source->Release();
  }
}

}  // namespace fairlead::nccl_host
