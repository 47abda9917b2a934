// How numbers are written in every report: few digits, a unit, and never "nan".
//
// A number that is not finite, which means unknown, is written as "–" (kUnknown).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead::report {

inline constexpr std::string_view kUnknown = "–";

// 1234.56, 1 -> "1,234.6". Rounds to `digits` decimals; no "-0".
std::string FormatFixed(double value, int digits);
// The same with a plus sign before what is greater than zero.
std::string FormatSigned(double value, int digits);
// Three significant digits without trailing zeros: "1,230", "12.3", "4", "0.0123"; never an exponent, at most four
// decimals.
std::string FormatShort(double value);
// 2768 -> "2,768".
std::string FormatCount(uint64_t count);
// "1 job", "2 jobs"; the plural adds an s.
std::string FormatCount(uint64_t count, std::string_view noun);
// 0.6123 -> "61.2 %".
std::string FormatPercent(double fraction);
// A difference of two fractions in percentage points: 0.111 -> "+11.1 points". Always with its sign.
std::string FormatPoints(double difference);
// A relative change: 0.181 -> "+18.1 %". Always with its sign.
std::string FormatChange(double relative);
// "340 µs", "12 s", "3.5 min", "1.25 h", "14 days". `seconds` may be negative.
std::string FormatDuration(double seconds);
// "1.41x": how many times longer than alone; ">= 40.0x" where it is only known to be at least so much; 0 and below mean
// unknown.
std::string FormatSlowdown(double slowdown, bool is_bound = false);
// Largest relative error of an approximation: "1e-09"; "exact" for 0.
std::string FormatErrorBound(double relative_error);
// Bytes per second as people say network speeds: 25e9 -> "200 Gb/s".
std::string FormatLinkSpeed(double bytes_per_second);

}  // namespace fairlead::report
