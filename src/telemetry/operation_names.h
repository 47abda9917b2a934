// What PyTorch and NCCL call operations and data types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/telemetry.h"

namespace fairlead::telemetry {

// NCCL's names: "AllReduce", "Send", … Others are kUnknown.
model::OperationKind NcclOperationKind(std::string_view name);

// One operation as PyTorch's process groups name it.
struct TorchOperation {
  model::OperationKind kind = model::OperationKind::kUnknown;
  // Of sends and receives: the other one, as rank of the process group.
  std::optional<uint32_t> peer;
  // The end of a group of operations that run together; the operations themselves come before it.
  bool ends_group = false;
};

// "nccl:all_reduce", "nccl:send 0->1", "nccl:recv 1<-0", "nccl:coalesced". Names that PyTorch has and we don't are
// kUnknown; nothing for what is no such name.
std::optional<TorchOperation> ParseTorchOperation(std::string_view profiling_name);

// "BFloat16" -> "ncclBfloat16"; names without a counterpart stay as they are.
std::string NcclDataType(std::string_view torch_type);
// Bytes of one element of PyTorch's type; 0: unknown.
uint64_t TorchTypeBytes(std::string_view torch_type);
// The same of NCCL's names.
uint64_t NcclTypeBytes(std::string_view nccl_type);

}  // namespace fairlead::telemetry
