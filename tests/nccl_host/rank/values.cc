#include "rank/values.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace fairlead::nccl_host {
namespace {

// Calls act(T()) with the type's T.
template <typename Act>
auto WithType(ncclDataType_t type, const Act& act) {
  switch (type) {
    case ncclInt8:
      return act(int8_t());
    case ncclUint8:
      return act(uint8_t());
    case ncclInt32:
      return act(int32_t());
    case ncclUint32:
      return act(uint32_t());
    case ncclInt64:
      return act(int64_t());
    case ncclUint64:
      return act(uint64_t());
    case ncclFloat16:
      return act(__half());
    case ncclFloat32:
      return act(float());
    case ncclFloat64:
      return act(double());
    case ncclBfloat16:
      return act(__nv_bfloat16());
    default:
      abort();
  }
}

}  // namespace

size_t BytesOf(ncclDataType_t type) {
  return WithType(type, [](auto zero) { return sizeof zero; });
}

std::string NameOf(ncclDataType_t type) {
  static constexpr const char* kNames[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                           "uint64", "float16", "float32", "float64", "bfloat16"};
  return kNames[type];
}

void Put(ncclDataType_t type, std::byte* values, size_t i, double value) {
  WithType(type, [&]<typename T>(T) {
    T stored;
    if constexpr (std::is_arithmetic_v<T>) {
      stored = static_cast<T>(value);
    } else {
      stored = T(static_cast<float>(value));
    }
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(stored);
    memcpy(values + i * sizeof(T), bytes.data(), sizeof(T));
  });
}

double Get(ncclDataType_t type, const std::byte* values, size_t i) {
  return WithType(type, [&]<typename T>(T) {
    std::array<std::byte, sizeof(T)> bytes;
    memcpy(bytes.data(), values + i * sizeof(T), sizeof(T));
    const T value = std::bit_cast<T>(bytes);
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<double>(static_cast<float>(value));
    }
  });
}

}  // namespace fairlead::nccl_host
