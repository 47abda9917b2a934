// How long does a message of a connection take, and how does that depend on its size?
//
// Problem     reports give sums over messages of whatever size; a stall of one message must not look like a slow wire.
// Notation    T = alpha + beta b: seconds of a message of b bytes
// Method      least squares over the reports of a window, weighted by messages, where mean sizes vary from report to
//             report; otherwise time per byte alone. The slowest message of the window is left out; from the second one
//             on, slow messages count: a lossy path is slow. A lossy path sends few messages twice: its mean hardly
//             changes, but again and again the slowest message of a report takes much longer than the others, by a
//             factor that is far beyond the usual one: sizes that vary and noise make the slowest message stand out,
//             too, but always by about the same factor. Such reports are counted. What is slow in less than half of the
//             reports is no property of the path, but of what it shares: the median report is a bound.
// Cost        constant memory per connection.
// Reference   docs/spec/c4.md section 5.1, "delay value".
#pragma once

#include <array>
#include <cstdint>

#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// How many times as long as the others of its report the slowest message usually takes: what few of the reports exceed.
// A stall of the path, which shows in one report or two, is not what is usual.
class SlowestRatios {
 public:
  void Add(double ratio);
  void Add(const SlowestRatios& others);

  // 0: too few reports to tell.
  double usual() const;

 private:
  static constexpr size_t kKept = 4;
  uint32_t reports_ = 0;
  std::array<float, kKept> greatest_ = {};  // descending
};

class TransferFit {
 public:
  // Records without messages, without bytes or with impossible times are left out.
  // Args: added_min: a message that takes less than this longer than others is not slow; usual_ratio: of the slowest
  // message of a report to the others, as it usually is; 0: unknown, and no report is uneven; usual_seconds: that a
  // byte usually takes: messages that are faster than ever don't make the slowest one slow.
  void Add(const model::ConnectionRecord& record, SimDuration added_min, double usual_ratio, double usual_seconds = 0);

  uint64_t messages() const { return static_cast<uint64_t>(all_.messages); }
  double mean_bytes() const { return all_.bytes / all_.messages; }      // per message; messages() > 0
  double mean_seconds() const { return all_.seconds / all_.messages; }  // likewise
  // Seconds of a message of that size; messages() > 0, bytes > 0.
  double SecondsOf(double bytes) const;
  // Standard error of log SecondsOf(), by how much the reports differ from each other. 0: too few of them to tell.
  double LogError() const;

  double slowest_seconds() const { return slowest_; }  // of one message
  // Reports whose slowest message took much longer than the others, and by an unusual factor.
  uint32_t uneven_reports() const { return uneven_reports_; }
  // By which the slowest messages of these reports took longer than usual, or than the others if that is longer.
  double uneven_seconds() const { return uneven_seconds_; }
  // Of those with messages enough to tell; 0 where there are none.
  double UnevenShare() const { return reports_ == 0 ? 0 : static_cast<double>(uneven_reports_) / reports_; }
  const SlowestRatios& slowest_ratios() const { return slowest_ratios_; }

 private:
  struct Report {
    double messages = 0;
    double bytes = 0;    // mean of a message
    double seconds = 0;  // likewise
  };
  // Over reports, each weighted by its messages w, with mean size b and mean time t.
  struct Sums {
    double messages = 0;   // w
    double bytes = 0;      // w b
    double seconds = 0;    // w t
    double bytes_2 = 0;    // w b b
    double product = 0;    // w b t
    double seconds_2 = 0;  // w t t

    void Add(const Report& report, double sign = 1);
    // Seconds for each byte more, by which sizes and times vary together; or time per byte, where sizes don't tell.
    double Slope() const;
  };

  // Of the median report over what the sums give for its size, 1 at most.
  double Typical() const;

  static constexpr size_t kReportsKept = 16;
  std::array<float, kReportsKept> bytes_ = {};    // a ring: mean of a message
  std::array<float, kReportsKept> seconds_ = {};  // likewise
  uint32_t num_reports_ = 0;
  uint32_t reports_ = 0;  // with messages enough to tell whether one is slower
  uint32_t uneven_reports_ = 0;
  double uneven_seconds_ = 0;
  double slowest_ = 0;  // seconds
  SlowestRatios slowest_ratios_;
  Sums all_;
  Report slowest_report_;  // that the slowest message is of
};

}  // namespace fairlead::diagnosis::c4d
