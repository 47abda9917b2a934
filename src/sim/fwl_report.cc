#include "sim/fwl_report.h"

#include <fmt/format.h>

namespace fairlead::sim {

// Written out, because JSON libraries print the shortest form of a number and not 9 decimals.
std::string RenderFwlJson(const FwlResult& result, double peak_rss_mb) {
  return fmt::format(
      "{{\"end_s\": {:.9f}, \"mean_iteration_s\": {:.9f}, \"completions\": {}, \"cpu_s\": {:.9f}, \"peak_rss_mb\": "
      "{:.9f}}}\n",
      result.end_s, result.mean_iteration_s, result.completions, result.cpu_s, peak_rss_mb);
}

std::string RenderFwlText(const FwlResult& result, double parse_s, double peak_rss_mb) {
  const double completions_per_s = result.cpu_s > 0 ? static_cast<double>(result.completions) / result.cpu_s : 0;
  return fmt::format(
      "simulated end   {:.9f} s\n"
      "mean iteration  {:.9f} s ({} iterations)\n"
      "completions     {} ({:.0f} per CPU second)\n"
      "CPU             {:.4f} s, parsing {:.4f} s\n"
      "peak memory     {:.1f} MB\n",
      result.end_s, result.mean_iteration_s, result.iterations, result.completions, completions_per_s, result.cpu_s,
      parse_s, peak_rss_mb);
}

}  // namespace fairlead::sim
