// A figure of activities over time: lanes of blocks over one time axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/axis.h"

namespace fairlead::report {

struct ScheduleBlock {
  double begin_s = 0;
  double end_s = 0;
  double height = 1;      // of the lane, 0..1: a half for half of a link
  std::string text = {};  // of its tooltip; empty: its lane and times
};

struct ScheduleLane {
  std::string label;
  size_t color = 0;       // see SeriesStyle
  bool is_faint = false;  // drawn in a light tone of its colour
  std::vector<ScheduleBlock> blocks;
};

struct ScheduleFigure {
  std::string title;
  std::string description;
  double end_s = 0;  // of the axis; blocks that reach beyond are cut
  std::vector<ScheduleLane> lanes;
  double width = 760;
  double lane_height = 22;
  double lane_gap = 6;
  std::string time_label = "seconds";
  std::vector<Tick> ticks = {};  // of the axis, at seconds; empty: round numbers of seconds
};

std::string Draw(const ScheduleFigure& figure);

// A job has so many GPUs from then on; 0: it waits.
struct HeldGpus {
  double since_s = 0;
  uint32_t num_gpus = 0;
};

// What a job held over time: bars as high as their share of `most_gpus`, thin ones while it waits.
// Args: from_s: when it was submitted; sizes: by time; what is beyond to_s is cut.
ScheduleLane SizeLane(const std::string& job, double from_s, double to_s, std::span<const HeldGpus> sizes,
                      uint32_t most_gpus, size_t color);
// Without lanes: one for each job, low and over the whole width.
ScheduleFigure SizesFigure(const std::string& policy, size_t num_jobs, uint32_t most_gpus, double end_s);

}  // namespace fairlead::report
