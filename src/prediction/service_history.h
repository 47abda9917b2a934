// What jobs of the past say about a job that is like them: how much service it will take, and how much is left.
//
// Problem     jobs of a user's script take alike, jobs of other scripts do not; most scripts have been seen a few
//             times.
// Notation    y = ln(service); level l of a job's keys, from all jobs to the closest kin; n_l, mean_l: of its samples;
//             tau: samples that the level above is worth.
// Method      shrinkage: m_0 = mean of all, m_l = (n_l mean_l + tau m_(l-1)) / (n_l + tau), and the same for variances.
//             tau is the ratio of the variance within closest kin to that between them, at most 4: kin that are all
//             alike count at once, kin that differ not before there are several. Before two kin have been seen: 4.
// Cost        O(levels) for an estimate; O(samples of the closest kin) for a sample.
// Reference   empirical Bayes; the keys are those of 3Sigma (EuroSys 2018), the limit of tau is ours.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fairlead::prediction {

// Service of a job as far as it is known: ln(service) is normal.
struct ServiceEstimate {
  double log_mean = 0;
  double log_sigma = 0;
  size_t num_kin = 0;  // samples of the closest kin

  // Service that it will have taken with this probability. Args: probability in (0, 1).
  double Quantile(double probability) const;
  // E[S - a | S > a]: what is left of a job that has had `attained`, >= 0. Grows again where a job overruns.
  double ExpectedRemaining(double attained) const;
  // Of the logarithm of what is left, S - a given S > a, as a normal one has it with the same 80 % interval.
  double RemainingSigma(double attained) const;
};

// One level: samples, their mean and variance (of all, not of the mean).
struct ShrinkageLevel {
  size_t count = 0;
  double mean = 0;
  double variance = 0;
};
// Args: levels: from all samples to the closest kin, not empty; tau >= 0.
ServiceEstimate ShrinkLevels(std::span<const ShrinkageLevel> levels, double tau);

class ServiceHistory {
 public:
  // A job that ended. Args: keys: from the coarsest, as texts that name the level, too ("app bert", "app bert batch
  // 12"); service > 0.
  void Add(std::span<const std::string> keys, double service);

  // Nothing before the first sample.
  std::optional<ServiceEstimate> Estimate(std::span<const std::string> keys) const;

 private:
  struct Sums {
    size_t count = 0;
    double sum = 0;
    double squares = 0;
    bool is_closest = false;
  };
  static ShrinkageLevel LevelOf(const Sums& sums);
  double Tau() const;

  Sums all_;
  std::map<std::string, Sums> sums_;
};

// The factor by which intervals of predictions must be wide: split conformal on ratios, the k-th smallest of
// |ln(actual / predicted)|, k = ceil((n + 1)(1 - alpha)); infinite where there are too few. Args: ratios > 0, alpha in
// (0, 1). Coverage between 1 - alpha and 1 - alpha + 1 / (n + 1) where jobs are exchangeable.
double ConformalFactor(std::span<const double> ratios, double alpha);

}  // namespace fairlead::prediction
