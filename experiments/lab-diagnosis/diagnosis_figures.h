// The pictures of lab-diagnosis: what was found of what was planted, and how soon.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/html_page.h"

namespace fairlead::experiments::lab_diagnosis {

// [planted][found] runs; "none" where nothing was.
using Confusion = std::map<std::string, std::map<std::string, uint32_t>>;

// What became of the runs with one kind of fault.
struct KindResult {
  uint32_t runs = 0;
  uint32_t right = 0;
  std::vector<double> found_s;  // from the fault to the finding
  std::vector<double> back_s;   // from there to the job's next iteration, where steering restarted it
};

// A group for each kind of fault, a bar for each syndrome that was found of any.
report::PageFigure DrawConfusion(const Confusion& confusion);
// Means over the runs of each kind that had a finding; no kind: an empty figure.
report::PageFigure DrawTimes(const std::map<std::string, KindResult>& kinds);

}  // namespace fairlead::experiments::lab_diagnosis
