// What the metrics of NVIDIA's DCGM exporter say of broken GPUs, beside NVML and the kernel's log, or where an agent
// may not ask these; and of what GPUs do.
//
// Fields      XID_ERRORS                       the last Xid, which stays: tells when it changes
//             ECC_DBE_VOL_TOTAL, ECC_DBE_AGG_TOTAL, UNCORRECTABLE_REMAPPED_ROWS
//                                              memory errors: tell when they grow
//             ROW_REMAP_FAILURE                holds while it is not 0
//             NVLINK_{CRC_FLIT,CRC_DATA,REPLAY,RECOVERY}_ERROR_COUNT_TOTAL
//                                              NVLink errors: tell when they grow
//             CLOCKS_EVENT_REASONS, CLOCK_THROTTLE_REASONS (its older name)
//                                              throttled while a bit for heat, a power brake or the hardware is set; a
//                                              power cap is usual under load
//             THERMAL_VIOLATION                throttled while it grows
//             each with the prefix DCGM_FI_DEV_;
//             SM_ACTIVE, PIPE_{TENSOR,FP64,FP32,FP16}_ACTIVE
//                                              shares of the time of a whole GPU (DcgmActivity), with DCGM_FI_PROF_
//             Others, and values that DCGM leaves blank, are skipped.
// Cost        linear in the text.
// Guarantees  any bytes; what was before the first text is history.
// Reference   github.com/NVIDIA/dcgm-exporter; Prometheus' text format 0.0.4.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/telemetry.h"

namespace fairlead::telemetry {

struct PrometheusSample {
  std::string_view name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;
};

// A line of Prometheus' text format; nothing: a comment, or no sample. The name is part of the line.
std::optional<PrometheusSample> ReadPrometheusLine(std::string_view line);

// Shares of the time, 0 to 1, in which SMs had work and their units were active; 0 where the exporter does not say.
struct DcgmActivity {
  double sm = 0;
  double tensor = 0;
  double fp64 = 0;
  double fp32 = 0;
  double fp16 = 0;
};

// [GPU] of those of which the text tells at least one unit. Instances of a divided GPU (MIG) are passed over.
std::map<uint32_t, DcgmActivity> ReadDcgmActivity(std::string_view text);

class DcgmMetrics {
 public:
  // Args: text: of the exporter, newer than the one before. Returns what has happened since, and what holds, in order of
  // the text.
  std::vector<model::HostSymptomRecord> Read(std::string_view text);

 private:
  using Key = std::pair<std::string, uint32_t>;  // field, GPU

  // By how much the counter has grown since the text before; 0 at first, and where it began anew.
  double GrowthOf(const Key& key, double value);

  std::map<Key, double> values_;  // as of the latest text
};

}  // namespace fairlead::telemetry
