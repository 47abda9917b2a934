#include "base/process_usage.h"

#include <sys/resource.h>

namespace fairlead {

namespace {

rusage Usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double Seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

}  // namespace

double PeakRssMb() {
  // Linux counts in KiB.
  return static_cast<double>(Usage().ru_maxrss) * 1024 / 1e6;
}

double CpuSeconds() {
  const rusage usage = Usage();
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

}  // namespace fairlead
