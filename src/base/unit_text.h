// Numbers with units, as people write them: "250ms", "16 GB", "400Gb/s", "2:1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// What a number counts. The unit of numbers without one.
enum class NumberUnit : uint8_t {
  kNone,
  kSeconds,             // or ns, us, ms, min, h, d
  kMegabytes,           // 10^6 bytes; or B, kB, GB, TB, KiB, MiB, GiB, TiB
  kGigabitsPerSecond,   // or b/s … Tb/s, "Gbps", "Gbit/s"; bytes as in "50GB/s" count eight times
  kGigabytesPerSecond,  // the same, in bytes
  kTeraflop,            // 10^12 floating-point operations; or MFLOP … EFLOP
  kTeraflopPerSecond,   // or MFLOPS, GFLOPS, PFLOPS; "TFLOP/s"
  kRatio,               // "2:1" is 2
};

// "seconds", "GB/s", …; "" for kNone and kRatio.
std::string_view UnitName(NumberUnit unit);

// A number in another unit, for messages and references: "250ms"; "" for kNone.
std::string_view UnitExample(NumberUnit unit);

// The number in `unit`, or nothing: not a number, not finite, or a unit that measures something else. Spaces between
// number and unit are fine; upper and lower case differ ("Gb" are bits, "GB" bytes).
std::optional<double> ParseWithUnit(std::string_view text, NumberUnit unit);

}  // namespace fairlead
