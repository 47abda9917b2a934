// Who delayed whom.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/heat_map_figure.h"
#include "report/number_format.h"
#include "report/page_figures.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumContendersShown = 30;

using JobPair = std::pair<JobId, JobId>;  // victim, culprit

struct PairLoss {
  double lost_s = 0;  // mean per run
  bool yielded = false;
};

std::map<JobPair, PairLoss> CollectLosses(const std::vector<const sim::RunResult*>& runs) {
  std::map<JobPair, PairLoss> losses;
  for (const sim::RunResult* run : runs) {
    for (const sim::ContentionResult& contention : run->contention) {
      if (!(contention.lost_s > 0) || !std::isfinite(contention.lost_s)) continue;
      PairLoss& loss = losses[{contention.victim, contention.culprit}];
      loss.lost_s += contention.lost_s / static_cast<double>(runs.size());
      loss.yielded = loss.yielded || contention.yielded;
    }
  }
  return losses;
}

// The jobs that lose or cost most under any policy, by id, each with its row.
std::map<JobId, size_t> ChooseContenders(const std::vector<std::map<JobPair, PairLoss>>& losses, size_t& num_involved) {
  std::map<JobId, double> weight;
  for (const auto& policy : losses) {
    for (const auto& [pair, loss] : policy) {
      weight[pair.first] += loss.lost_s;
      weight[pair.second] += loss.lost_s;
    }
  }
  num_involved = weight.size();
  std::vector<std::pair<double, JobId>> order;
  order.reserve(weight.size());
  for (const auto& [id, total] : weight) order.emplace_back(-total, id);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), kNumContendersShown));
  std::map<JobId, size_t> rows;
  for (const auto& [total, id] : order) rows[id] = 0;
  size_t next = 0;
  for (auto& [id, row] : rows) row = next++;
  return rows;
}

std::string NameOf(const FigureInput& input, JobId id) {
  for (const PolicySummary& summary : input.summaries) {
    if (const JobSummary* job = FindJob(summary, id); job != nullptr) return job->name;
  }
  return "";
}

HeatPanel MakeContentionPanel(const FigureInput& input, const std::string& policy,
                              const std::map<JobPair, PairLoss>& losses, const std::map<JobId, size_t>& rows,
                              double most_lost_s) {
  HeatPanel panel;
  double total = 0;
  for (const auto& [pair, loss] : losses) {
    total += loss.lost_s;
    const auto victim = rows.find(pair.first);
    const auto culprit = rows.find(pair.second);
    if (victim == rows.end() || culprit == rows.end()) continue;
    std::string tooltip = fmt::format("job {} {} lost {} to job {} {}{}", pair.first.value(), NameOf(input, pair.first),
                                      FormatDuration(loss.lost_s), pair.second.value(), NameOf(input, pair.second),
                                      loss.yielded ? ", yielding to its higher priority" : "");
    // Square root: small losses stay visible beside the largest.
    panel.cells.push_back(
        {victim->second, culprit->second, std::sqrt(loss.lost_s / most_lost_s), std::move(tooltip), loss.yielded});
  }
  panel.heading = fmt::format("{}: {} lost in all per run", policy, FormatDuration(total));
  return panel;
}

}  // namespace

std::vector<PageFigure> DrawContention(const FigureInput& input) {
  std::vector<std::map<JobPair, PairLoss>> losses;
  double most_lost_s = 0;
  for (const PolicySummary& summary : input.summaries) {
    losses.push_back(CollectLosses(input.RunsOf(summary.policy)));
    for (const auto& [pair, loss] : losses.back()) most_lost_s = std::max(most_lost_s, loss.lost_s);
  }
  if (!(most_lost_s > 0)) return {};
  size_t num_involved = 0;
  const std::map<JobId, size_t> rows = ChooseContenders(losses, num_involved);
  HeatMapFigure figure;
  figure.title = "Who delays whom";
  figure.description = "Matrix of jobs: seconds that the job of the row lost because of the job of the column.";
  for (const auto& [id, row] : rows) {
    figure.row_labels.push_back(TruncateToWidth(fmt::format("{} {}", id.value(), CleanText(NameOf(input, id))), 18));
    figure.column_labels.push_back(fmt::format("{}", id.value()));
  }
  figure.row_axis = "delayed";
  figure.column_axis = "because of job";
  figure.scale_label = "time lost, square-root scale";
  figure.scale_low = "0";
  figure.scale_high = FormatDuration(most_lost_s);
  figure.cells_height_max = 16 * static_cast<double>(rows.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    for (const auto& [pair, loss] : losses[i]) {
      if (loss.yielded) figure.mark_label = "yielded to a higher priority";
    }
    figure.panels.push_back(MakeContentionPanel(input, input.summaries[i].policy, losses[i], rows, most_lost_s));
  }
  std::string caption = "Mean per run over seeds, summed over links.";
  if (num_involved > rows.size()) {
    caption += fmt::format(" Shown are the {} jobs with most time lost or caused, of {} that met others.", rows.size(),
                           FormatCount(num_involved));
  }
  return {{figure.title, Draw(figure), caption}};
}

}  // namespace fairlead::report
