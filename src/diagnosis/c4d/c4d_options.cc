#include "diagnosis/c4d/c4d_options.h"

#include <fmt/format.h>

#include <string_view>

namespace fairlead::diagnosis::c4d {
namespace {

Status ExpectPositive(std::string_view option, SimDuration found) {
  if (found > SimDuration(0)) return OkStatus();
  return InvalidArgument(fmt::format("c4d: {}: expected > 0 s, found {} s", option, found.seconds().value()));
}

Status ExpectNotNegative(std::string_view option, SimDuration found) {
  if (found >= SimDuration(0)) return OkStatus();
  return InvalidArgument(fmt::format("c4d: {}: expected >= 0 s, found {} s", option, found.seconds().value()));
}

Status ExpectAtLeastOne(std::string_view option, double found) {
  if (found >= 1) return OkStatus();
  return InvalidArgument(fmt::format("c4d: {}: expected >= 1, found {}", option, found));
}

}  // namespace

Status C4dOptions::Validate() const {
  FL_RETURN_IF_ERROR(ExpectPositive("hang.suspect_after", hang.suspect_after));
  FL_RETURN_IF_ERROR(ExpectAtLeastOne("hang.suspect_durations", hang.suspect_durations));
  if (!(hang.rhythmic_share >= 0 && hang.rhythmic_share <= 1)) {
    return InvalidArgument(fmt::format("c4d: hang.rhythmic_share: expected 0..1, found {}", hang.rhythmic_share));
  }
  FL_RETURN_IF_ERROR(ExpectAtLeastOne("hang.rhythmic_waits", hang.rhythmic_waits));
  FL_RETURN_IF_ERROR(ExpectNotNegative("hang.confirm_for", hang.confirm_for));
  FL_RETURN_IF_ERROR(ExpectNotNegative("hang.leader_patience", hang.leader_patience));
  FL_RETURN_IF_ERROR(ExpectAtLeastOne("hang.warm_up_factor", static_cast<double>(hang.warm_up_factor)));
  FL_RETURN_IF_ERROR(ExpectNotNegative("hang.clear_after", hang.clear_after));
  FL_RETURN_IF_ERROR(ExpectPositive("silence.report_period", silence.report_period));
  FL_RETURN_IF_ERROR(ExpectAtLeastOne("silence.missed_reports", static_cast<double>(silence.missed_reports)));
  FL_RETURN_IF_ERROR(ExpectPositive("silence.silent_after", silence.silent_after));
  FL_RETURN_IF_ERROR(ExpectPositive("silence.went_on_after", silence.went_on_after));
  FL_RETURN_IF_ERROR(ExpectPositive("silence.without_after", silence.without_after));
  FL_RETURN_IF_ERROR(ExpectNotNegative("silence.confirm_for", silence.confirm_for));
  if (!(silence.max_silent_share >= 0 && silence.max_silent_share <= 1)) {
    return InvalidArgument(
        fmt::format("c4d: silence.max_silent_share: expected 0..1, found {}", silence.max_silent_share));
  }
  FL_RETURN_IF_ERROR(ExpectPositive("window.length", window.length));
  FL_RETURN_IF_ERROR(ExpectAtLeastOne("window.max_lengths", static_cast<double>(window.max_lengths)));
  if (window.bad_windows < 1 || window.windows < window.bad_windows || window.windows > 64) {
    return InvalidArgument(fmt::format("c4d: window: expected 1 <= bad_windows <= windows <= 64, found {} of {}",
                                       window.bad_windows, window.windows));
  }
  return OkStatus();
}

}  // namespace fairlead::diagnosis::c4d
