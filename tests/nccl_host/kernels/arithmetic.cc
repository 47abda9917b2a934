#include "kernels/arithmetic.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "device.h"  // NCCL's

namespace fairlead::nccl_host {
namespace {

template <typename T>
T LoadAt(const std::byte* values, size_t i) {
  std::array<std::byte, sizeof(T)> bytes;
  memcpy(bytes.data(), values + i * sizeof(T), sizeof(T));
  return std::bit_cast<T>(bytes);
}
template <typename T>
void StoreAt(std::byte* values, size_t i, T value) {
  memcpy(values + i * sizeof(T), &value, sizeof(T));
}

// Short floating-point types are computed as float and rounded after each operation. Integers are added and multiplied
// without sign, which wraps.
template <typename T>
using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
template <typename T>
T Narrow(Wide<T> value) {
  return T(value);
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return Narrow<T>(Wide<T>(a) + Wide<T>(b));
  }
}
template <typename T>
T Product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return Narrow<T>(Wide<T>(a) * Wide<T>(b));
  }
}

template <typename T>
class ArithmeticOn : public Arithmetic {
 public:
  ArithmeticOn(int operation, uint64_t argument, bool is_pointer) : operation_(operation), argument_(argument) {
    if (!is_pointer) return;
    argument_ = 0;
    const size_t bytes = operation == ncclDevSumPostDiv ? sizeof(uint64_t) : sizeof(T);
    memcpy(&argument_, reinterpret_cast<const void*>(argument), bytes);
  }

  size_t element_bytes() const override { return sizeof(T); }

  void Prepare(std::byte* values, size_t count) const override {
    if (operation_ != ncclDevPreMulSum) return;
    const auto factor = LoadAt<T>(reinterpret_cast<const std::byte*>(&argument_), 0);
    for (size_t i = 0; i < count; ++i) StoreAt(values, i, Product(LoadAt<T>(values, i), factor));
  }

  void Reduce(std::byte* into, const std::byte* with, size_t count) const override {
    for (size_t i = 0; i < count; ++i) StoreAt(into, i, Reduced(LoadAt<T>(into, i), LoadAt<T>(with, i)));
  }

  void Finish(std::byte* values, size_t count) const override {
    if constexpr (std::is_integral_v<T>) {
      if (operation_ != ncclDevSumPostDiv) return;
      const auto divisor = static_cast<T>(argument_ >> 1);  // the lowest bit says whether T has a sign
      for (size_t i = 0; i < count; ++i) StoreAt(values, i, static_cast<T>(LoadAt<T>(values, i) / divisor));
    }
  }

 private:
  T Reduced(T a, T b) const {
    switch (operation_) {
      case ncclDevProd:
        return Product(a, b);
      case ncclDevMinMax: {
        const bool is_maximum = argument_ % 2 == 1;
        return (Wide<T>(a) < Wide<T>(b)) == is_maximum ? b : a;
      }
      default:  // sums, also those that become averages
        return Sum(a, b);
    }
  }

  int operation_;
  uint64_t argument_;
};

}  // namespace

std::unique_ptr<Arithmetic> ArithmeticOf(int operation, int type, uint64_t argument, bool is_pointer) {
  const auto make = [&]<typename T>(T) -> std::unique_ptr<Arithmetic> {
    return std::make_unique<ArithmeticOn<T>>(operation, argument, is_pointer);
  };
  switch (type) {
    case ncclInt8:
      return make(int8_t());
    case ncclUint8:
      return make(uint8_t());
    case ncclInt32:
      return make(int32_t());
    case ncclUint32:
      return make(uint32_t());
    case ncclInt64:
      return make(int64_t());
    case ncclUint64:
      return make(uint64_t());
    case ncclFloat16:
      return make(__half());
    case ncclFloat32:
      return make(float());
    case ncclFloat64:
      return make(double());
    case ncclBfloat16:
      return make(__nv_bfloat16());
    default:  // NCCL reduces numbers of 8 bits on later GPUs only
      return nullptr;
  }
}

}  // namespace fairlead::nccl_host
