// Who delayed whom.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/heat_map_figure.h"
#include "report/loss_labels.h"
#include "report/number_format.h"
#include "report/page_figures.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumContendersShown = 30;

// Who or what delayed: a job, or a cause without one.
struct Delayer {
  JobId job;                                              // invalid: a cause without a job
  sim::LossCause cause = sim::LossCause::kNotAttributed;  // means nothing with a job

  friend auto operator<=>(const Delayer& a, const Delayer& b) = default;
};
using LossKey = std::pair<JobId, Delayer>;  // victim, and because of whom

struct PairLoss {
  double lost_s = 0;  // mean per run
  bool yielded = false;
};
using Losses = std::map<LossKey, PairLoss>;

Losses CollectLosses(const std::vector<const sim::RunResult*>& runs) {
  Losses losses;
  for (const sim::RunResult* run : runs) {
    for (const sim::JobResult& job : run->jobs) {
      for (const sim::LossResult& entry : job.lost_to) {
        if (!(entry.lost_s > 0) || !std::isfinite(entry.lost_s)) continue;
        const Delayer delayer =
            entry.culprit.valid() ? Delayer{entry.culprit, sim::LossCause::kJob} : Delayer{JobId(), entry.cause};
        PairLoss& loss = losses[{job.id, delayer}];
        loss.lost_s += entry.lost_s / static_cast<double>(runs.size());
        loss.yielded = loss.yielded || entry.cause == sim::LossCause::kLevel;
      }
    }
  }
  return losses;
}

// The jobs that lose or cost most under any policy, by id, each with its row.
std::map<JobId, size_t> ChooseContenders(const std::vector<Losses>& losses, size_t& num_involved) {
  std::map<JobId, double> weight;
  for (const Losses& policy : losses) {
    for (const auto& [key, loss] : policy) {
      weight[key.first] += loss.lost_s;
      if (key.second.job.valid()) weight[key.second.job] += loss.lost_s;
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

// A column for each of these jobs, then one for each cause without a job that occurs.
std::map<Delayer, size_t> ChooseColumns(const std::vector<Losses>& losses, const std::map<JobId, size_t>& rows) {
  std::map<Delayer, size_t> columns;
  for (const auto& [id, row] : rows) columns[{id, sim::LossCause::kJob}] = row;
  std::set<sim::LossCause> causes;
  for (const Losses& policy : losses) {
    for (const auto& [key, loss] : policy) {
      if (!key.second.job.valid()) causes.insert(key.second.cause);
    }
  }
  for (const sim::LossCause cause : causes) {
    const size_t column = columns.size();
    columns[{JobId(), cause}] = column;
  }
  return columns;
}

std::string NameOf(const FigureInput& input, JobId id) {
  for (const PolicySummary& summary : input.summaries) {
    if (const JobSummary* job = FindJob(summary, id); job != nullptr) return job->name;
  }
  return "";
}

HeatPanel MakeContentionPanel(const FigureInput& input, const std::string& policy, const Losses& losses,
                              const std::map<JobId, size_t>& rows, const std::map<Delayer, size_t>& columns,
                              double most_lost_s) {
  HeatPanel panel;
  double total = 0;
  for (const auto& [key, loss] : losses) {
    total += loss.lost_s;
    const auto row = rows.find(key.first);
    const auto column = columns.find(key.second);
    if (row == rows.end() || column == columns.end()) continue;
    const JobId culprit = key.second.job;
    std::string tooltip = fmt::format(
        "job {} {} lost {} to {}{}", key.first.value(), NameOf(input, key.first), FormatDuration(loss.lost_s),
        culprit.valid() ? fmt::format("job {} {}", culprit.value(), NameOf(input, culprit))
                        : std::string(CausePhrase(key.second.cause)),
        loss.yielded ? ", yielding to its higher priority" : "");
    // Square root: small losses stay visible beside the largest.
    panel.cells.push_back(
        {row->second, column->second, std::sqrt(loss.lost_s / most_lost_s), std::move(tooltip), loss.yielded});
  }
  panel.heading = fmt::format("{}: {} lost in all per run", policy, FormatDuration(total));
  return panel;
}

}  // namespace

std::vector<PageFigure> DrawContention(const FigureInput& input) {
  std::vector<Losses> losses;
  double most_lost_s = 0;
  for (const PolicySummary& summary : input.summaries) {
    losses.push_back(CollectLosses(input.RunsOf(summary.policy)));
    for (const auto& [pair, loss] : losses.back()) most_lost_s = std::max(most_lost_s, loss.lost_s);
  }
  if (!(most_lost_s > 0)) return {};
  size_t num_involved = 0;
  const std::map<JobId, size_t> rows = ChooseContenders(losses, num_involved);
  const std::map<Delayer, size_t> columns = ChooseColumns(losses, rows);
  HeatMapFigure figure;
  figure.title = "Which jobs delay which";
  figure.description =
      "Matrix of jobs: seconds that the job of the row lost because of the job or cause of the column.";
  for (const auto& [id, row] : rows) {
    figure.row_labels.push_back(TruncateToWidth(fmt::format("{} {}", id.value(), CleanText(NameOf(input, id))), 18));
  }
  figure.column_labels.resize(columns.size());
  for (const auto& [delayer, column] : columns) {
    figure.column_labels[column] =
        delayer.job.valid() ? fmt::format("{}", delayer.job.value()) : std::string(CauseLabel(delayer.cause));
  }
  figure.row_axis = "delayed";
  figure.column_axis = "because of job, or cause";
  figure.scale_label = "time lost, square-root scale";
  figure.scale_low = "0";
  figure.scale_high = FormatDuration(most_lost_s);
  figure.cells_height_max = 16 * static_cast<double>(rows.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    for (const auto& [pair, loss] : losses[i]) {
      if (loss.yielded) figure.mark_label = "yielded to a higher priority";
    }
    figure.panels.push_back(
        MakeContentionPanel(input, input.summaries[i].policy, losses[i], rows, columns, most_lost_s));
  }
  std::string caption = "Mean over draws, summed over links. Each row adds up to all that its job lost.";
  std::vector<std::string> causes;
  for (const auto& [delayer, column] : columns) {
    if (!delayer.job.valid()) {
      causes.push_back(fmt::format("{}: {}", CauseLabel(delayer.cause), CausePhrase(delayer.cause)));
    }
  }
  if (!causes.empty()) caption += fmt::format(" {}.", fmt::join(causes, "; "));
  if (num_involved > rows.size()) {
    caption +=
        fmt::format(" Shown: the {} jobs that lost or caused most, of {}.", rows.size(), FormatCount(num_involved));
  }
  return {{figure.title, Draw(figure), caption}};
}

}  // namespace fairlead::report
