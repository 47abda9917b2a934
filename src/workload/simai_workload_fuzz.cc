// Any bytes are a SimAI workload or a clear error; a workload that loads gives finite iterations, or says why not.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "base/check.h"
#include "workload/simai_workload.h"
#include "workload/workload_summary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  std::istringstream input(std::string(reinterpret_cast<const char*>(data), size));
  const auto sequence = workload::ParseSimaiWorkload(input, "fuzz.txt");
  if (!sequence.ok()) {
    FL_CHECK(!sequence.status().message().empty());
    return 0;
  }
  FL_CHECK(std::isfinite(workload::SummarizeSequence(*sequence).compute.value()));
  const uint32_t num_gpus = std::clamp(sequence->num_gpus, 16u, 64u) / 16 * 16;
  const auto parallelism = ParallelismOf(*sequence, num_gpus);
  if (!parallelism.ok()) return 0;
  const auto iteration = BuildSequenceIteration(*sequence, *parallelism, collective::MakeRegularLayout(num_gpus / 8, 8),
                                                FlopPerSecond(312e12));
  if (!iteration.ok()) return 0;
  for (const auto& flow : iteration.value().flows) FL_CHECK(flow.bytes > Bytes(0) && std::isfinite(flow.bytes.value()));
  return 0;
}
