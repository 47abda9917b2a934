#include "diagnosis/c4d/slow_options.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace fairlead::diagnosis::c4d {

namespace {

Status CheckRange(std::string_view field, double value, double least, double greatest) {
  if (std::isfinite(value) && value >= least && value <= greatest) return OkStatus();
  return {StatusCode::kOutOfRange,
          fmt::format("slow-transfer options: {} must be in [{}, {}], found {}", field, least, greatest, value)};
}

}  // namespace

Status SlowOptions::Validate() const {
  struct Field {
    std::string_view name;
    double value;
    double least;
    double greatest;
  };
  const Field fields[] = {
      {"z_line", matrix.z_line, 0, 1e3},
      {"z_point", matrix.z_point, 0, 1e3},
      {"effect_min", matrix.effect_min, 0, 1e3},
      {"sigma_floor", matrix.sigma_floor, 1e-9, 10},
      {"line_share", matrix.line_share, 0, 1},
      {"line_cells_min", static_cast<double>(matrix.line_cells_min), 2, 1e9},
      {"max_rounds", static_cast<double>(matrix.max_rounds), 1, 1e3},
      {"messages_min", static_cast<double>(messages_min), 1, 1e18},
      {"added_delay_min (ns)", static_cast<double>(added_delay_min.ns()), 0, 1e18},
      {"busy_share_min", busy_share_min, 0, 1},
      {"peers_min", static_cast<double>(peers_min), 3, 1e9},
      {"baseline_windows", static_cast<double>(baseline_windows), 1, 1e9},
      {"operations_min", static_cast<double>(operations_min), 1, 1e9},
      {"wait_share_min", wait_share_min, 0, 1},
      {"blame_share_min", blame_share_min, 0, 1},
      {"wait_sigma_floor", wait_sigma_floor, 1e-9, 1},
  };
  for (const Field& field : fields)
    FL_RETURN_IF_ERROR(CheckRange(field.name, field.value, field.least, field.greatest));
  return OkStatus();
}

}  // namespace fairlead::diagnosis::c4d
