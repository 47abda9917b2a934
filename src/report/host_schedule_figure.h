// A Gantt chart of a cluster: hosts are rows, time goes to the right, and a colour is a job.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fairlead::report {

// A job on some hosts, from one start to the end of that run.
struct HostScheduleRun {
  size_t job = 0;             // index of HostScheduleFigure::jobs; decides the colour
  std::vector<size_t> hosts;  // rows
  double begin_s = 0;
  double end_s = 0;
};

// Time in which nothing is placed on a host.
struct HostScheduleClosure {
  size_t host = 0;
  double begin_s = 0;
  double end_s = 0;
  std::string what;  // "isolated", "spare"; drawn where there is room
};

// An instant of one host: a dot, and a word beside it.
struct HostScheduleMark {
  size_t host = 0;
  double at_s = 0;
  std::string what;
};

struct HostScheduleFigure {
  std::string title;
  std::string description;
  double end_s = 0;  // of the axis; what reaches beyond is cut
  std::vector<std::string> hosts;
  std::vector<std::string> jobs;  // the legend; more than eight share colours (line_figure.h)
  std::vector<HostScheduleRun> runs;
  std::vector<HostScheduleClosure> closures;
  std::vector<HostScheduleMark> marks;
  double width = 760;
};

std::string Draw(const HostScheduleFigure& figure);

}  // namespace fairlead::report
