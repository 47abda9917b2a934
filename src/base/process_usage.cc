#include "base/process_usage.h"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace fairlead {

namespace {

double Seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

}  // namespace

double PeakRssMb() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kKey = "VmHWM:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kKey)) return std::strtod(line.c_str() + kKey.size(), nullptr) * 1024 / 1e6;  // in KiB
  }
  return 0;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

}  // namespace fairlead
