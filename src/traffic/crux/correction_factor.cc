#include "traffic/crux/correction_factor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fairlead::traffic::crux {
namespace {

Seconds SoloTime(const LinkJob& job) {
  return std::max(job.compute_time, job.start_fraction * job.compute_time + job.link_time);
}

Seconds HorizonOf(const LinkJob& reference, const LinkJob& job, const CorrectionOptions& options) {
  if (options.fixed_horizon.value() > 0) return options.fixed_horizon;
  const Seconds mine = SoloTime(job);
  const Seconds theirs = SoloTime(reference);
  return std::min(options.horizon_periods * std::max(mine, theirs), options.max_iterations * std::min(mine, theirs));
}

std::vector<InitialPhases> PhasesOf(const CorrectionOptions& options) {
  if (!options.explicit_phases.empty()) return options.explicit_phases;
  std::vector<InitialPhases> grid;
  const double n = options.num_phases;
  for (uint32_t a = 0; a < options.num_phases; ++a) {
    for (uint32_t b = 0; b < options.num_phases; ++b) grid.push_back({a / n, b / n});
  }
  return grid;
}

struct PairLinkTime {
  Seconds reference;
  Seconds job;
};

PairLinkTime SimulatePair(LinkJob reference, LinkJob job, const InitialPhases& phases, bool reference_first,
                          Seconds horizon) {
  reference.initial_phase = phases.reference;
  job.initial_phase = phases.job;
  reference.level = reference_first ? 0 : 1;
  job.level = reference_first ? 1 : 0;
  LinkSimulation simulation(std::array{reference, job});
  simulation.RunUntil(horizon);
  return {simulation.usage(0).link, simulation.usage(1).link};
}

std::optional<double> FactorAsPrinted(Seconds reference_gain, Seconds job_gain) {
  if (reference_gain.value() == 0) return std::nullopt;
  return job_gain / reference_gain;
}

double GuardedFactor(Seconds reference_gain, Seconds job_gain, Seconds epsilon, double max_factor) {
  reference_gain = std::max(reference_gain, Seconds(0));
  job_gain = std::max(job_gain, Seconds(0));
  if (reference_gain < epsilon && job_gain < epsilon) return 1;
  return std::clamp((job_gain + epsilon) / (reference_gain + epsilon), 1 / max_factor, max_factor);
}

}  // namespace

Status CorrectionOptions::Validate() const {
  const auto out_of_range = [](const char* option, const char* range, double found) {
    return InvalidArgument(fmt::format("crux correction factor: {}: expected {}, found {}", option, range, found));
  };
  if (num_phases < 1) return out_of_range("num_phases", ">= 1", num_phases);
  for (const InitialPhases& phases : explicit_phases) {
    for (const double phase : {phases.reference, phases.job}) {
      if (!(phase >= 0 && phase <= 1)) return out_of_range("explicit_phases", "fractions in [0, 1]", phase);
    }
  }
  if (!(horizon_periods > 0)) return out_of_range("horizon_periods", "> 0", horizon_periods);
  if (!(fixed_horizon.value() >= 0)) return out_of_range("fixed_horizon", ">= 0 s", fixed_horizon.value());
  if (!(max_iterations >= 1)) return out_of_range("max_iterations", ">= 1", max_iterations);
  if (!(epsilon > 0 && epsilon < 1)) return out_of_range("epsilon", "a fraction in (0, 1)", epsilon);
  if (!(max_factor >= 1)) return out_of_range("max_factor", ">= 1", max_factor);
  return OkStatus();
}

CorrectionFactor ComputeCorrectionFactor(const LinkJob& reference, const LinkJob& job,
                                         const CorrectionOptions& options) {
  const Seconds horizon = HorizonOf(reference, job, options);
  const std::vector<InitialPhases> all_phases = PhasesOf(options);
  CorrectionFactor result;
  for (const InitialPhases& phases : all_phases) {
    const PairLinkTime reference_first = SimulatePair(reference, job, phases, true, horizon);
    const PairLinkTime job_first = SimulatePair(reference, job, phases, false, horizon);
    result.reference_gain += reference_first.reference - job_first.reference;
    result.job_gain += job_first.job - reference_first.job;
  }
  const auto num_runs = static_cast<double>(all_phases.size());
  result.reference_gain = result.reference_gain / num_runs;
  result.job_gain = result.job_gain / num_runs;
  result.factor = options.paper_mode ? FactorAsPrinted(result.reference_gain, result.job_gain)
                                     : GuardedFactor(result.reference_gain, result.job_gain, options.epsilon * horizon,
                                                     options.max_factor);
  return result;
}

}  // namespace fairlead::traffic::crux
