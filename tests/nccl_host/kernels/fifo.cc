#include "kernels/fifo.h"

#include <cstring>
#include <vector>

namespace fairlead::nccl_host {
namespace {

constexpr uint64_t kSteps = NCCL_STEPS;

uint64_t Load(const uint64_t* address) { return __atomic_load_n(address, __ATOMIC_ACQUIRE); }
void Store(uint64_t* address, uint64_t value) { __atomic_store_n(address, value, __ATOMIC_RELEASE); }
// The proxy waits for a size other than -1.
void StoreSize(ncclConnFifo* slot, size_t bytes) {
  __atomic_store_n(&slot->size, static_cast<ssize_t>(bytes), __ATOMIC_RELEASE);
}

uint64_t RoundUp(uint64_t step, uint64_t multiple) { return (step + multiple - 1) / multiple * multiple; }

// Buffer of a step with the simple protocol; those of sends and receives lie anywhere in a buffer that all share.
std::byte* BufferOf(const ncclConnInfo& connection, uint64_t step) {
  auto* const buffer = reinterpret_cast<std::byte*>(connection.buffs[NCCL_PROTO_SIMPLE]);
  if (connection.connFifo != nullptr && connection.connFifo[step % kSteps].mode == NCCL_MODE_OFFSET) {
    return buffer + __atomic_load_n(&connection.connFifo[step % kSteps].offset, __ATOMIC_ACQUIRE);
  }
  return buffer + step % kSteps * static_cast<size_t>(connection.stepSize);
}

class SimpleSendEnd : public SendEnd {
 public:
  SimpleSendEnd(Block* block, ncclConnInfo* connection, Slicing slicing)
      : block_(block),
        connection_(connection),
        steps_(static_cast<uint64_t>(slicing.steps_per_slice)),
        step_(RoundUp(connection->step, static_cast<uint64_t>(slicing.steps_per_chunk()))) {}
  ~SimpleSendEnd() override { connection_->step = step_; }

  std::byte* Reserve(size_t bytes) override {
    // In this order the sum wraps for a head before the first step, as NCCL means it.
    block_->WaitUntil([this] { return Load(connection_->head) + kSteps >= step_ + steps_; });
    if (connection_->connFifo != nullptr) StoreSize(&connection_->connFifo[step_ % kSteps], bytes);
    return BufferOf(*connection_, step_);
  }
  void Post() override {
    step_ += steps_;
    Store(connection_->tail, step_);
  }

 private:
  Block* block_;
  ncclConnInfo* connection_;
  uint64_t steps_;
  uint64_t step_;
};

class SimpleReceiveEnd : public ReceiveEnd {
 public:
  SimpleReceiveEnd(Block* block, ncclConnInfo* connection, Slicing slicing)
      : block_(block),
        connection_(connection),
        steps_(static_cast<uint64_t>(slicing.steps_per_slice)),
        step_(RoundUp(connection->step, static_cast<uint64_t>(slicing.steps_per_chunk()))) {
    Store(connection_->head, step_);  // steps that were left out are free again
  }
  ~SimpleReceiveEnd() override { connection_->step = step_; }

  const std::byte* Await(size_t) override {
    block_->WaitUntil([this] { return Load(connection_->tail) >= step_ + steps_; });
    return BufferOf(*connection_, step_);
  }
  void Release() override {
    step_ += steps_;
    Store(connection_->head, step_);
  }

 private:
  Block* block_;
  ncclConnInfo* connection_;
  uint64_t steps_;
  uint64_t step_;
};

// ---- LL ----

constexpr size_t kLineBytes = 8;  // of data

size_t NumLines(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes; }

ncclLLFifoLine* LinesOf(const Block& block, const ncclConnInfo& connection, uint64_t step) {
  const size_t lines_per_step =
      static_cast<size_t>(block.comm->buffSizes[NCCL_PROTO_LL]) / kSteps / sizeof(ncclLLFifoLine);
  return reinterpret_cast<ncclLLFifoLine*>(connection.buffs[NCCL_PROTO_LL]) + step % kSteps * lines_per_step;
}

class LlSendEnd : public SendEnd {
 public:
  LlSendEnd(Block* block, ncclConnInfo* connection) : block_(block), connection_(connection), step_(connection->step) {}
  ~LlSendEnd() override { connection_->step = step_; }

  std::byte* Reserve(size_t bytes) override {
    block_->WaitUntil([this] { return Load(connection_->head) + kSteps >= step_ + 1; });
    num_lines_ = NumLines(bytes);
    if (IsCleaning())
      num_lines_ = static_cast<size_t>(block_->comm->buffSizes[NCCL_PROTO_LL]) / kSteps / sizeof(ncclLLFifoLine);
    if (connection_->connFifo != nullptr) {
      StoreSize(&connection_->connFifo[step_ % kSteps], num_lines_ * sizeof(ncclLLFifoLine));
    }
    data_.assign(num_lines_ * kLineBytes, std::byte{0});
    return data_.data();
  }
  void Post() override {
    ncclLLFifoLine* const lines = LinesOf(*block_, *connection_, step_);
    const uint32_t flag = NCCL_LL_FLAG(step_ + 1);
    for (size_t i = 0; i < num_lines_ && !block_->is_aborted; ++i) {
      uint32_t halves[2];
      memcpy(halves, &data_[i * kLineBytes], kLineBytes);
      // Each half with its flag at once: the proxy looks at both flags.
      __atomic_store_n(&lines[i].v[0], uint64_t{flag} << 32 | halves[0], __ATOMIC_RELEASE);
      __atomic_store_n(&lines[i].v[1], uint64_t{flag} << 32 | halves[1], __ATOMIC_RELEASE);
    }
    ++step_;
  }

 private:
  // Before flags wrap, all lines of a round of steps get theirs.
  bool IsCleaning() const { return (step_ & NCCL_LL_CLEAN_MASK) == NCCL_LL_CLEAN_MASK; }

  Block* block_;
  ncclConnInfo* connection_;
  uint64_t step_;
  size_t num_lines_ = 0;
  std::vector<std::byte> data_;
};

class LlReceiveEnd : public ReceiveEnd {
 public:
  LlReceiveEnd(Block* block, ncclConnInfo* connection)
      : block_(block), connection_(connection), step_(connection->step) {}
  ~LlReceiveEnd() override { connection_->step = step_; }

  const std::byte* Await(size_t bytes) override {
    const ncclLLFifoLine* const lines = LinesOf(*block_, *connection_, step_);
    data_.resize(NumLines(bytes) * kLineBytes);
    for (size_t i = 0; i < NumLines(bytes); ++i) {
      block_->WaitUntil([&] { return ReadHalf(lines[i].v[0], i, 0) && ReadHalf(lines[i].v[1], i, 1); });
    }
    return data_.data();
  }
  void Release() override {
    ++step_;
    Store(connection_->head, step_);
  }

 private:
  bool ReadHalf(const uint64_t& half, size_t line, size_t which) {
    const uint64_t value = Load(&half);
    if (value >> 32 != NCCL_LL_FLAG(step_ + 1)) return false;
    const auto data = static_cast<uint32_t>(value);
    memcpy(&data_[line * kLineBytes + which * sizeof data], &data, sizeof data);
    return true;
  }

  Block* block_;
  ncclConnInfo* connection_;
  uint64_t step_;
  std::vector<std::byte> data_;
};

}  // namespace

std::unique_ptr<SendEnd> OpenSendEnd(Block* block, ncclConnInfo* connection, int protocol, Slicing slicing) {
  if (protocol == NCCL_PROTO_LL) return std::make_unique<LlSendEnd>(block, connection);
  return std::make_unique<SimpleSendEnd>(block, connection, slicing);
}

std::unique_ptr<ReceiveEnd> OpenReceiveEnd(Block* block, ncclConnInfo* connection, int protocol, Slicing slicing) {
  if (protocol == NCCL_PROTO_LL) return std::make_unique<LlReceiveEnd>(block, connection);
  return std::make_unique<SimpleReceiveEnd>(block, connection, slicing);
}

}  // namespace fairlead::nccl_host
