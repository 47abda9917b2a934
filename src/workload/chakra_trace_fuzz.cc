// Any bytes are a Chakra trace or a clear error; a trace that loads gives a schedule and finite iterations, or says why
// not.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include "base/check.h"
#include "workload/chakra_merge.h"
#include "workload/chakra_single_trace.h"

namespace {

void BuildIterationOf(const fairlead::collective::CollectiveSequence& sequence, uint32_t num_gpus) {
  using namespace fairlead;
  const auto parallelism = ParallelismOf(sequence, num_gpus);
  FL_CHECK(parallelism.ok());
  const auto iteration =
      BuildSequenceIteration(sequence, *parallelism, collective::MakeRegularLayout(1, num_gpus), FlopPerSecond(312e12));
  if (!iteration.ok()) return;
  for (const auto& flow : iteration.value().flows) FL_CHECK(flow.bytes > Bytes(0) && std::isfinite(flow.bytes.value()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  const workload::ChakraOptions options = {
      .num_gpus = 8, .gpu_peak = FlopPerSecond(312e12), .memory_bandwidth = BytesPerSecond(2e12)};
  std::istringstream input(std::string(reinterpret_cast<const char*>(data), size));
  auto trace = workload::ReadChakraTrace(input, "fuzz.et", 0, options);
  if (!trace.ok()) {
    FL_CHECK(!trace.status().message().empty());
    return 0;
  }
  if (const auto one = workload::SequenceOfOneTrace(*trace, options); one.ok()) BuildIterationOf(*one, 8);
  workload::ChakraTraceMerger merger("fuzz", 2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    trace->rank = rank;
    if (!merger.Add(*trace).ok()) return 0;
  }
  if (const auto merged = std::move(merger).Finish(); merged.ok()) BuildIterationOf(*merged, 2);
  return 0;
}
