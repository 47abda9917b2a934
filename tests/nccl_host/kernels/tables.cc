// The tables that NCCL's build generates for its kernels, for one kernel that does everything.
//
// With every row of NCCL's table of functions as a function of its own, the number of a function says all of what it
// does.
#include "kernels/tables.h"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/streams.h"
#include "kernels/arithmetic.h"
#include "kernels/block.h"
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
#include "sym_kernels.h"
#else
#include "symmetric.h"
#endif

namespace fairlead::nccl_host {
namespace {

constexpr size_t kNumRows = 4096;  // more than NCCL has
char kernel;                       // its address is that of all kernels

// Whether ncclDevFuncId() gives this combination a number of its own.
bool HasFunction(const CollectiveKind& kind) {
  const bool only_copies = kind.function == ncclFuncAllGather || kind.function == ncclFuncBroadcast;
  if (only_copies && (kind.operation != ncclDevSum || kind.type != ncclInt8)) return false;
  switch (kind.function) {
    case ncclFuncAllReduce:
      return kind.algorithm != NCCL_ALGO_PAT;
    case ncclFuncAllGather:
    case ncclFuncReduceScatter:
      return kind.algorithm == NCCL_ALGO_RING || kind.algorithm == NCCL_ALGO_PAT;
    default:
      return kind.algorithm == NCCL_ALGO_RING;
  }
}

template <typename Do>
void ForEachKind(const Do& act) {
  for (const int function :
       {ncclFuncAllReduce, ncclFuncAllGather, ncclFuncReduceScatter, ncclFuncBroadcast, ncclFuncReduce}) {
    for (int operation = 0; operation < ncclNumDevRedOps; ++operation) {
      for (int type = 0; type < ncclNumTypes; ++type) {
        for (int algorithm = 0; algorithm < NCCL_NUM_ALGORITHMS; ++algorithm) {
          for (int protocol = 0; protocol < NCCL_NUM_PROTOCOLS; ++protocol) {
            act(CollectiveKind{function, operation, type, algorithm, protocol});
          }
        }
      }
    }
  }
}

}  // namespace

CollectiveKind KindOfFunction(int number) {
  static const auto* const kinds = [] {
    auto* const all = new std::array<CollectiveKind, kNumRows>;
    ForEachKind([&](const CollectiveKind& kind) {
      if (!HasFunction(kind)) return;
      const int id = ncclDevFuncId(kind.function, kind.operation, kind.type, kind.algorithm, kind.protocol);
      all->at(static_cast<size_t>(id)) = kind;
    });
    return all;
  }();
  return kinds->at(static_cast<size_t>(number));
}

}  // namespace fairlead::nccl_host

using namespace fairlead::nccl_host;

// Arrays of kNumRows; NCCL's declarations leave no other way to fill them.
#define FAIRLEAD_FOUR(make, i) make(i), make((i) + 1), make((i) + 2), make((i) + 3)
#define FAIRLEAD_16(make, i) \
  FAIRLEAD_FOUR(make, i), FAIRLEAD_FOUR(make, (i) + 4), FAIRLEAD_FOUR(make, (i) + 8), FAIRLEAD_FOUR(make, (i) + 12)
#define FAIRLEAD_64(make, i) \
  FAIRLEAD_16(make, i), FAIRLEAD_16(make, (i) + 16), FAIRLEAD_16(make, (i) + 32), FAIRLEAD_16(make, (i) + 48)
#define FAIRLEAD_256(make, i) \
  FAIRLEAD_64(make, i), FAIRLEAD_64(make, (i) + 64), FAIRLEAD_64(make, (i) + 128), FAIRLEAD_64(make, (i) + 192)
#define FAIRLEAD_1024(make, i) \
  FAIRLEAD_256(make, i), FAIRLEAD_256(make, (i) + 256), FAIRLEAD_256(make, (i) + 512), FAIRLEAD_256(make, (i) + 768)
#define FAIRLEAD_ROWS(make) \
  FAIRLEAD_1024(make, 0), FAIRLEAD_1024(make, 1024), FAIRLEAD_1024(make, 2048), FAIRLEAD_1024(make, 3072)
#define FAIRLEAD_ITSELF(i) (i)
#define FAIRLEAD_KERNEL(i) (static_cast<void>(i), &kernel)
#define FAIRLEAD_TRUE(i) true

extern int const ncclDevFuncRowToId[kNumRows] = {FAIRLEAD_ROWS(FAIRLEAD_ITSELF)};
extern void* const ncclDevKernelForFunc[kNumRows] = {FAIRLEAD_ROWS(FAIRLEAD_KERNEL)};
extern bool const ncclDevKernelForFuncIsSpecialized[kNumRows] = {FAIRLEAD_ROWS(FAIRLEAD_TRUE)};
extern int const ncclDevKernelCount = 1;

// Kernels for symmetric memory: none.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
void* ncclDevKernelList[] = {&kernel};
int ncclDevKernelRequirements[] = {0};
extern int const ncclSymkKernelCount = 0;
void* ncclSymkKernelList[] = {nullptr};
int ncclSymkKernelRequirements[] = {0};
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
int ncclSymkKernelMaxDynamicSmem[] = {0};
int ncclSymkGetKernelIndex(ncclSymkKernelId, int, ncclDataType_t) { return -1; }
#endif
void* ncclSymkGetKernelPtr(ncclSymkKernelId, int, ncclDataType_t) { return nullptr; }
#else
extern void* const ncclDevKernelList[] = {&kernel};
extern int const ncclSymKernelCount = 0;
extern void* const ncclSymKernelList[] = {nullptr};
void* ncclSymGetKernelPtr(ncclSymKernelId, int, ncclDataType_t) { return nullptr; }
#endif

// A collective of one rank: its own values are the result.
ncclResult_t ncclLaunchOneRank(void* output, const void* input, size_t count, ncclDevRedOpFull operation,
                               ncclDataType_t type, cudaStream_t stream) {
  std::shared_ptr<Arithmetic> arithmetic =
      ArithmeticOf(operation.op, type, operation.scalarArg, operation.scalarArgIsPtr);
  if (arithmetic == nullptr) return ncclInvalidArgument;
  StreamOf(stream)->Put([=] {
    auto* const values = static_cast<std::byte*>(output);
    memmove(values, input, count * arithmetic->element_bytes());
    arithmetic->Prepare(values, count);
    arithmetic->Finish(values, count);
  });
  return ncclSuccess;
}
