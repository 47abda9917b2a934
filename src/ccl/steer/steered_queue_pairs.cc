#include "ccl/steer/steered_queue_pairs.h"

#include <unistd.h>

namespace fairlead::ccl {
namespace {

// No addresses of objects.
constexpr uintptr_t kFree = 1;
constexpr uintptr_t kBusy = 2;

void HangUp(int socket) {
  if (socket >= 0) close(socket);
}

}  // namespace

SteeredQueuePairs::Slot* SteeredQueuePairs::At(uintptr_t key) const {
  for (size_t i = 0; i < kNumProbes; ++i) {
    Slot& slot = slots_[(FirstSlot(key) + i) % kNumSlots];
    const uintptr_t found = slot.key.load(std::memory_order_acquire);
    if (found == key) return &slot;
    if (found == 0) return nullptr;
  }
  return nullptr;
}

bool SteeredQueuePairs::Put(const void* queue_pair, const SteeredQueuePair& steered) {
  Drop(queue_pair);
  const auto key = reinterpret_cast<uintptr_t>(queue_pair);
  for (size_t i = 0; i < kNumProbes; ++i) {
    Slot& slot = slots_[(FirstSlot(key) + i) % kNumSlots];
    uintptr_t found = slot.key.load(std::memory_order_relaxed);
    const bool is_open = found == 0 || found == kFree;
    if (!is_open || !slot.key.compare_exchange_strong(found, kBusy, std::memory_order_acquire)) continue;
    slot.answer.store(uint32_t{steered.bond_port} << 16 | steered.port, std::memory_order_relaxed);
    slot.exchange.store(steered.exchange, std::memory_order_relaxed);
    slot.key.store(key, std::memory_order_release);
    return true;
  }
  return false;
}

bool SteeredQueuePairs::Find(const void* queue_pair, SteeredQueuePair* steered) const {
  const Slot* slot = At(reinterpret_cast<uintptr_t>(queue_pair));
  if (slot == nullptr) return false;
  const uint32_t answer = slot->answer.load(std::memory_order_relaxed);
  *steered = {.port = static_cast<uint16_t>(answer),
              .bond_port = static_cast<uint8_t>(answer >> 16),
              .exchange = slot->exchange.load(std::memory_order_relaxed)};
  return true;
}

int SteeredQueuePairs::TakeExchange(const void* queue_pair) {
  Slot* slot = At(reinterpret_cast<uintptr_t>(queue_pair));
  return slot == nullptr ? -1 : slot->exchange.exchange(-1, std::memory_order_relaxed);
}

void SteeredQueuePairs::Drop(const void* queue_pair) {
  Slot* slot = At(reinterpret_cast<uintptr_t>(queue_pair));
  uintptr_t key = reinterpret_cast<uintptr_t>(queue_pair);
  if (slot == nullptr || !slot->key.compare_exchange_strong(key, kBusy, std::memory_order_acquire)) return;
  HangUp(slot->exchange.exchange(-1, std::memory_order_relaxed));
  slot->key.store(kFree, std::memory_order_release);
}

}  // namespace fairlead::ccl
