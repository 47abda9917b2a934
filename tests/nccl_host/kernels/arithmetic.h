// What a collective does with numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fairlead::nccl_host {

// Values lie in memory one after the other, aligned or not. Thread: any.
class Arithmetic {
 public:
  virtual ~Arithmetic() = default;
  virtual size_t element_bytes() const = 0;
  // What is done with the values of each rank before anything else: for an average of floating-point numbers, a product.
  virtual void Prepare(std::byte* values, size_t count) const = 0;
  // into[i] = into[i] (operation) with[i]
  virtual void Reduce(std::byte* into, const std::byte* with, size_t count) const = 0;
  // What is done with the result: for an average of integers, a division.
  virtual void Finish(std::byte* values, size_t count) const = 0;
};

// Args: operation: ncclDevRedOp_t; type: ncclDataType_t; argument: of the operation, as NCCL's host code passes it to
// kernels (redOpArg); is_pointer: it is to be read from there.
// Returns: null for a type that is not known.
std::unique_ptr<Arithmetic> ArithmeticOf(int operation, int type, uint64_t argument, bool is_pointer);

}  // namespace fairlead::nccl_host
