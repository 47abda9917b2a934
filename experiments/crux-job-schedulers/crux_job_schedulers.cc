#include "experiments/crux-job-schedulers/crux_job_schedulers.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::crux_job_schedulers {

namespace {

struct Scheduler {
  std::string_view placement;
  std::string_view label;  // in rows
};
// "None" in the paper places jobs without regard to the network.
constexpr std::array<Scheduler, 4> kSchedulers = {
    {{"random", "none"}, {"muri", "muri"}, {"hived", "hived"}, {"locality-first", "locality-first"}}};

// Scattered jobs share many links and drift: a day takes minutes to simulate where it takes a second otherwise.
constexpr double kFirstDay = 11;
constexpr double kLastDay = 12;
constexpr double kReducedLastDay = 11.2;

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, LoadTraceScenario());
  scenario.policies = {"ecmp", "crux"};
  scenario.num_seeds = 1;
  scenario.first_seed = context.seed;
  CutDays(kFirstDay, context.reduced ? kReducedLastDay : kLastDay, &scenario);

  experiment::Outcome outcome;
  report::BarFigure figure;
  figure.title = "GPU utilization under job schedulers, alone and with Crux";
  figure.description = "Two bars for each job scheduler.";
  figure.y_label = "GPU utilization";
  figure.y_domain = {0, 1};
  figure.series = {"alone (ECMP)", "with Crux"};
  for (size_t s = 0; s < kSchedulers.size(); ++s) {
    scenario.placement = kSchedulers[s].placement;
    const auto share = [](size_t part) { return static_cast<double>(part) / kSchedulers.size(); };
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report,
                        SimulateScenario(scenario, context, share(s), share(s + 1)));
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    const double alone = MeanBusy(report, "ecmp");
    const double with = MeanBusy(report, "crux");
    outcome.Set(fmt::format("{}: alone", kSchedulers[s].label), alone);
    outcome.Set(fmt::format("{}: with crux", kSchedulers[s].label), with);
    outcome.Set(fmt::format("{}: gain", kSchedulers[s].label), 100 * (with - alone));
    figure.groups.push_back({std::string(kSchedulers[s].label), {alone, with}, {}});
  }
  outcome.figures.push_back({figure.title, Draw(figure), "Like Figure 25 of the paper."});
  outcome.notes.push_back(fmt::format("Jobs of days {:g} to {:g} of the trace, two-layer Clos, 1:1.", kFirstDay,
                                      context.reduced ? kReducedLastDay : kLastDay));
  return outcome;
}

}  // namespace fairlead::experiments::crux_job_schedulers
