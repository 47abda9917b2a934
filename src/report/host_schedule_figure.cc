#include "report/host_schedule_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/axis.h"
#include "report/figure_json.h"
#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

constexpr double kGanttLegendHeight = 24;
constexpr double kGanttBottom = 40;
constexpr double kGanttRowHeight = 22;
constexpr double kGanttRowGap = 4;
constexpr double kGanttRightMargin = 12;
constexpr size_t kNumGanttTicks = 11;
constexpr double kGanttSwatch = 11;

// Draws one chart, from its legend down.
class Gantt {
 public:
  explicit Gantt(const HostScheduleFigure& figure)
      : figure_(figure),
        left_(LeftMargin(figure)),
        top_(PlanLegend()),
        bottom_(top_ + static_cast<double>(figure.hosts.size()) * (kGanttRowHeight + kGanttRowGap)),
        x_({0, figure.end_s}, {left_, figure.width - kGanttRightMargin}),
        svg_(figure.width, bottom_ + kGanttBottom, figure.title, figure.description) {}

  std::string Draw() {
    for (size_t job = 0; job < legend_.size(); ++job) {
      svg_.AddBox({legend_[job].x, legend_[job].y - 10, kGanttSwatch, kGanttSwatch}, SeriesStyle(job) + " dot");
      svg_.AddText({legend_[job].x + kGanttSwatch + 5, legend_[job].y}, figure_.jobs[job], "tick");
    }
    for (const Tick& tick : PlanTicks({0, figure_.end_s}, kNumGanttTicks)) {
      svg_.AddLine({x_(tick.value), top_}, {x_(tick.value), bottom_}, "grid");
      svg_.AddText({x_(tick.value), bottom_ + 16}, tick.label, "tick", Anchor::kMiddle);
    }
    for (size_t host = 0; host < figure_.hosts.size(); ++host) {
      svg_.AddText({left_ - 8, TopOf(host) + kGanttRowHeight * 0.7}, figure_.hosts[host], "tick", Anchor::kEnd);
    }
    for (const HostScheduleClosure& closure : figure_.closures) DrawClosure(closure);
    for (const HostScheduleRun& run : figure_.runs) DrawRun(run);
    for (const HostScheduleMark& mark : figure_.marks) DrawMark(mark);
    svg_.SetData(DataOf());
    svg_.AddLine({left_, bottom_}, {figure_.width - kGanttRightMargin, bottom_}, "axis");
    svg_.AddText({figure_.width - kGanttRightMargin, bottom_ + 34}, "seconds", "axis-label", Anchor::kEnd);
    return svg_.Finish();
  }

 private:
  static double LeftMargin(const HostScheduleFigure& figure) {
    double width = 0;
    for (const std::string& host : figure.hosts) width = std::max(width, LabelWidth(host));
    return width + 12;
  }

  // Places the jobs of the legend in lines; returns where rows begin.
  double PlanLegend() {
    Point at{left_, kGanttLegendHeight * 0.6};
    for (const std::string& job : figure_.jobs) {
      const double width = kGanttSwatch + 5 + LabelWidth(job) + 16;
      if (at.x + width > figure_.width && at.x > left_) at = {left_, at.y + kGanttLegendHeight};
      legend_.push_back(at);
      at.x += width;
    }
    return figure_.jobs.empty() ? 8 : at.y + kGanttLegendHeight * 0.6;
  }

  std::string DataOf() const {
    Json rows = Json::array();
    const auto add = [&](size_t host, const char* kind, double begin_s, double end_s, const std::string& text) {
      rows.push_back(Json::array({figure_.hosts[host], kind, FigureNumber(begin_s), FigureNumber(end_s), text}));
    };
    for (const HostScheduleRun& run : figure_.runs) {
      for (const size_t host : run.hosts) add(host, "job", run.begin_s, run.end_s, figure_.jobs[run.job]);
    }
    for (const HostScheduleClosure& closed : figure_.closures) {
      add(closed.host, "closed", closed.begin_s, closed.end_s, closed.what);
    }
    for (const HostScheduleMark& mark : figure_.marks) add(mark.host, "mark", mark.at_s, mark.at_s, mark.what);
    return FigureText({{"kind", "hosts"},
                       {"hosts", figure_.hosts},
                       {"end_s", FigureNumber(figure_.end_s)},
                       {"frame", FigureFrame({left_, top_, x_(figure_.end_s) - left_, bottom_ - top_})},
                       {"rows", std::move(rows)}});
  }

  double TopOf(size_t host) const { return top_ + static_cast<double>(host) * (kGanttRowHeight + kGanttRowGap); }

  void DrawRun(const HostScheduleRun& run) {
    const double end_s = std::min(run.end_s, figure_.end_s);
    if (end_s <= run.begin_s) return;
    const std::string tooltip =
        fmt::format("{} on {} host{}: {} to {}", figure_.jobs[run.job], run.hosts.size(),
                    run.hosts.size() == 1 ? "" : "s", FormatDuration(run.begin_s), FormatDuration(end_s));
    for (const size_t host : run.hosts) {
      svg_.AddBox({x_(run.begin_s), TopOf(host), x_(end_s) - x_(run.begin_s), kGanttRowHeight},
                  SeriesStyle(run.job) + " dot", tooltip);
    }
  }

  void DrawClosure(const HostScheduleClosure& closure) {
    const double end_s = std::min(closure.end_s, figure_.end_s);
    if (end_s <= closure.begin_s) return;
    const double width = x_(end_s) - x_(closure.begin_s);
    svg_.AddBox({x_(closure.begin_s), TopOf(closure.host), width, kGanttRowHeight}, "cell-ground",
                fmt::format("{} is {}: {} to {}", figure_.hosts[closure.host], closure.what,
                            FormatDuration(closure.begin_s), FormatDuration(end_s)));
    if (width < LabelWidth(closure.what) + 8) return;
    svg_.AddText({x_(closure.begin_s) + 6, TopOf(closure.host) + kGanttRowHeight * 0.7}, closure.what, "tick");
  }

  void DrawMark(const HostScheduleMark& mark) {
    const Point center{x_(std::min(mark.at_s, figure_.end_s)), TopOf(mark.host) + kGanttRowHeight / 2};
    svg_.AddLine({center.x, TopOf(mark.host) - 2}, {center.x, TopOf(mark.host) + kGanttRowHeight + 2}, "outline");
    svg_.AddDot(center, 5, "mark",
                fmt::format("{} {}: {}", figure_.hosts[mark.host], mark.what, FormatDuration(mark.at_s)));
    const bool fits = center.x + 10 + LabelWidth(mark.what) < figure_.width;
    svg_.AddText({fits ? center.x + 9 : center.x - 9, center.y + 4}, mark.what, "panel-heading",
                 fits ? Anchor::kStart : Anchor::kEnd);
  }

  const HostScheduleFigure& figure_;
  const double left_;
  std::vector<Point> legend_;  // [job] where its text stands; before top_, which follows from it
  const double top_;
  const double bottom_;
  const LinearScale x_;
  SvgFigure svg_;
};

}  // namespace

std::string Draw(const HostScheduleFigure& figure) { return Gantt(figure).Draw(); }

}  // namespace fairlead::report
