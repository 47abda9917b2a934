#include "telemetry/operation_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/whole_number.h"

namespace fairlead::telemetry {

namespace {

using model::OperationKind;

struct KindName {
  std::string_view name;
  OperationKind kind;
};

constexpr std::array kNcclKinds = std::to_array<KindName>({
    {"AllReduce", OperationKind::kAllReduce},
    {"AllGather", OperationKind::kAllGather},
    {"AllGatherV", OperationKind::kAllGather},
    {"ReduceScatter", OperationKind::kReduceScatter},
    {"Broadcast", OperationKind::kBroadcast},
    {"Bcast", OperationKind::kBroadcast},
    {"Reduce", OperationKind::kReduce},
    {"AllToAll", OperationKind::kAllToAll},
    {"AlltoAll", OperationKind::kAllToAll},
    {"Send", OperationKind::kSend},
    {"Recv", OperationKind::kReceive},
});

constexpr std::array kTorchKinds = std::to_array<KindName>({
    {"all_reduce", OperationKind::kAllReduce},
    {"allreduce_coalesced", OperationKind::kAllReduce},
    {"all_gather", OperationKind::kAllGather},
    {"_all_gather_base", OperationKind::kAllGather},
    {"all_gather_single", OperationKind::kAllGather},
    {"all_gather_v", OperationKind::kAllGather},
    {"all_gather_into_tensor_coalesced", OperationKind::kAllGather},
    {"reduce_scatter", OperationKind::kReduceScatter},
    {"_reduce_scatter_base", OperationKind::kReduceScatter},
    {"reduce_scatter_single", OperationKind::kReduceScatter},
    {"reduce_scatter_v", OperationKind::kReduceScatter},
    {"reduce_scatter_tensor_coalesced", OperationKind::kReduceScatter},
    {"broadcast", OperationKind::kBroadcast},
    {"_broadcast_oop", OperationKind::kBroadcast},
    {"reduce", OperationKind::kReduce},
    {"_reduce_oop", OperationKind::kReduce},
    {"all_to_all", OperationKind::kAllToAll},
    {"all_to_all_single", OperationKind::kAllToAll},
    {"all_to_all_v_single", OperationKind::kAllToAll},
    {"barrier", OperationKind::kBarrier},
    {"all_reduce_barrier", OperationKind::kBarrier},
    {"send", OperationKind::kSend},
    {"recv", OperationKind::kReceive},
});

// Groups of collectives end with an entry named after the call, in capitals where it is not plain "coalesced".
constexpr std::array<std::string_view, 3> kGroupEnds = {"coalesced", "ALLGATHER_coalesced", "REDUCE_SCATTER_coalesced"};

struct TypeName {
  std::string_view torch;
  std::string_view nccl;
  uint64_t bytes;
};

constexpr std::array kTypes = std::to_array<TypeName>({
    {"Float", "ncclFloat32", 4},
    {"Half", "ncclFloat16", 2},
    {"BFloat16", "ncclBfloat16", 2},
    {"Double", "ncclFloat64", 8},
    {"Int", "ncclInt32", 4},
    {"Long", "ncclInt64", 8},
    {"Char", "ncclInt8", 1},
    {"Byte", "ncclUint8", 1},
    {"Bool", "ncclUint8", 1},
    {"Float8_e4m3fn", "ncclFloat8e4m3", 1},
    {"Float8_e5m2", "ncclFloat8e5m2", 1},
});

template <class Table>
OperationKind FindKind(const Table& table, std::string_view name) {
  const auto entry = std::find_if(table.begin(), table.end(), [name](const KindName& e) { return e.name == name; });
  return entry == table.end() ? OperationKind::kUnknown : entry->kind;
}

const TypeName* FindType(std::string_view torch_type) {
  const auto entry =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.torch == torch_type; });
  return entry == kTypes.end() ? nullptr : &*entry;
}

}  // namespace

OperationKind NcclOperationKind(std::string_view name) { return FindKind(kNcclKinds, name); }

std::optional<TorchOperation> ParseTorchOperation(std::string_view profiling_name) {
  const size_t colon = profiling_name.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view name = profiling_name.substr(colon + 1);
  const size_t space = name.find(' ');
  const std::string_view ends = space == std::string_view::npos ? "" : name.substr(space + 1);
  name = name.substr(0, space);
  if (name.empty()) return std::nullopt;
  TorchOperation operation;
  operation.kind = FindKind(kTorchKinds, name);
  operation.ends_group = std::find(kGroupEnds.begin(), kGroupEnds.end(), name) != kGroupEnds.end();
  if (IsTransfer(operation.kind)) {
    // "0->1" of a send and "1<-0" of a receive: both end with the other one.
    const size_t arrow = ends.find(operation.kind == OperationKind::kSend ? "->" : "<-");
    if (arrow == std::string_view::npos || !ParseWhole<uint32_t>(ends.substr(0, arrow))) return std::nullopt;
    operation.peer = ParseWhole<uint32_t>(ends.substr(arrow + 2));
    if (!operation.peer) return std::nullopt;
  }
  return operation;
}

std::string NcclDataType(std::string_view torch_type) {
  const TypeName* type = FindType(torch_type);
  return std::string(type == nullptr ? torch_type : type->nccl);
}

uint64_t TorchTypeBytes(std::string_view torch_type) {
  const TypeName* type = FindType(torch_type);
  return type == nullptr ? 0 : type->bytes;
}

uint64_t NcclTypeBytes(std::string_view nccl_type) {
  // Those that PyTorch has no name for.
  if (nccl_type == "ncclUint32") return 4;
  if (nccl_type == "ncclUint64") return 8;
  const auto entry = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.nccl == nccl_type; });
  return entry == kTypes.end() ? 0 : entry->bytes;
}

}  // namespace fairlead::telemetry
