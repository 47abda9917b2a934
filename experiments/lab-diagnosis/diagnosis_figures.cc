#include "experiments/lab-diagnosis/diagnosis_figures.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/statistics.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::lab_diagnosis {

namespace {

// No bar where there is nothing.
double MeanOf(const std::vector<double>& values) {
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : Mean(values);
}

// The words of a name, one per line.
std::string LabelOf(std::string name) {
  std::ranges::replace(name, '_', '\n');
  return name;
}

}  // namespace

report::PageFigure DrawConfusion(const Confusion& confusion) {
  report::BarFigure figure;
  figure.title = "What was found of what was planted";
  figure.description = "A group for each kind of fault, a bar for each syndrome.";
  figure.y_label = "share of runs";
  figure.y_domain = {0, 1};
  std::set<std::string> syndromes;
  for (const auto& [planted, found] : confusion) {
    for (const auto& [syndrome, count] : found) syndromes.insert(syndrome);
  }
  figure.series.assign(syndromes.begin(), syndromes.end());
  for (const auto& [planted, found] : confusion) {
    uint32_t runs = 0;
    for (const auto& [syndrome, count] : found) runs += count;
    report::BarGroup group{LabelOf(planted), {}, {}};
    for (const std::string& syndrome : figure.series) {
      const auto count = found.find(syndrome);
      group.values.push_back(count == found.end() ? 0 : static_cast<double>(count->second) / runs);
    }
    figure.groups.push_back(std::move(group));
  }
  return {figure.title, Draw(figure), "The first finding of each run. The notes have the numbers."};
}

report::PageFigure DrawTimes(const std::map<std::string, KindResult>& kinds) {
  report::BarFigure figure;
  figure.title = "Seconds from the fault to the finding, and from there to the job's next iteration";
  figure.description = "One group for each kind of fault of which something was found.";
  figure.y_label = "s";
  figure.series = {"found", "restarted"};
  double longest = 1;
  for (const auto& [name, kind] : kinds) {
    if (kind.found_s.empty()) continue;
    figure.groups.push_back({LabelOf(name), {MeanOf(kind.found_s), MeanOf(kind.back_s)}, {}});
    longest = std::max(longest, MeanOf(kind.found_s));
  }
  figure.y_domain = {0, longest};
  return {figure.title, Draw(figure),
          "Means over the tours; only where steering restarted the job is there a second bar."};
}

}  // namespace fairlead::experiments::lab_diagnosis
