// What was answered about queue pairs, from the moment that they learn their peer until they are reset or destroyed.
//
// Problem     the port of a Mellanox queue pair is set when it is ready to send, and once more whenever it becomes so
//             again; the agent is to be told what came of it then. Numbers of queue pairs are those of a NIC, and are
//             used again: only the address of the object tells one from another, for as long as that lives.
// Method      a hash table in place, without lock or allocation: any thread, any number of queue pairs up to some
//             thousands; those that find no place are not remembered.
// Cost        a few loads for each change of state of a queue pair.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fairlead::ccl {

struct SteeredQueuePair {
  uint16_t port = 0;
  uint8_t bond_port = 0;  // 0: any
  int exchange = -1;      // socket to the agent, which waits for the outcome; -1: it has it
};

class SteeredQueuePairs {
 public:
  // Replaces what was remembered of it. False: there is no place, and the exchange is the caller's still.
  bool Put(const void* queue_pair, const SteeredQueuePair& steered);
  bool Find(const void* queue_pair, SteeredQueuePair* steered) const;
  // The exchange of it, which is the caller's from here on; -1: there is none.
  int TakeExchange(const void* queue_pair);
  // Forgets it, and hangs up.
  void Drop(const void* queue_pair);

 private:
  static constexpr size_t kNumSlots = 16'384;
  static constexpr size_t kNumProbes = 64;

  struct Slot {
    std::atomic<uintptr_t> key = 0;  // address; 0: never used; kFree, kBusy
    std::atomic<uint32_t> answer = 0;
    std::atomic<int> exchange = -1;
  };

  static size_t FirstSlot(uintptr_t key) { return (key >> 4) * 0x9e3779b97f4a7c15u >> 50; }
  Slot* At(uintptr_t key) const;

  mutable Slot slots_[kNumSlots];
};

}  // namespace fairlead::ccl
