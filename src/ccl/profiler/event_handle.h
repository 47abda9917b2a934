// What a plugin gives NCCL as the "handle" of an event: numbers packed into a pointer, never an address.
//
//     63..60 kind | 59..36 generation | 35..8 index | 7..0 part
//
// A handle that comes back late, after its event has ended and the place was given to another one, is known by its
// generation. Never null: NCCL takes a null handle for "not interested" and drops the events below it.
#pragma once

#include <cstdint>

namespace fairlead::ccl {

enum class HandleKind : uint8_t {
  kNone = 0,       // not one of ours
  kParent = 1,     // of an event that is not recorded, but has others below it
  kContext = 2,    // of a communicator; index: its slot
  kOperation = 3,  // index: its slot
  kKernelChannel = 4,
  kProxyOperation = 5,
  kProxyStep = 6,  // index: of the proxy operation; part: place of the step
};

struct EventHandle {
  HandleKind kind = HandleKind::kNone;
  uint32_t generation = 0;  // 24 bits
  uint32_t index = 0;       // 28 bits
  uint8_t part = 0;
};
inline constexpr uint32_t kGenerationMask = 0xffffff;
inline constexpr uint32_t kNoIndex = 0xfffffff;

inline void* Pack(const EventHandle& handle) {
  const uint64_t bits = uint64_t{static_cast<uint8_t>(handle.kind)} << 60 |
                        uint64_t{handle.generation & kGenerationMask} << 36 | uint64_t{handle.index & kNoIndex} << 8 |
                        handle.part;
  return reinterpret_cast<void*>(bits);  // NOLINT(performance-no-int-to-ptr): NCCL hands it back, and no more
}

// Any pointer: one that is not ours has an unexpected kind, or fails by its index or generation.
inline EventHandle Unpack(const void* pointer) {
  const uint64_t bits = reinterpret_cast<uint64_t>(pointer);
  return {static_cast<HandleKind>(bits >> 60), static_cast<uint32_t>(bits >> 36) & kGenerationMask,
          static_cast<uint32_t>(bits >> 8) & kNoIndex, static_cast<uint8_t>(bits)};
}

}  // namespace fairlead::ccl
