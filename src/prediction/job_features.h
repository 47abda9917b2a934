// Features of a training job that may show whether its end can be predicted.
//
// Three groups (Zhao et al., AITurbo, HPDC 2021): the model, its hyper-parameters, and how the run has gone so far.
// Magnitudes that span decades enter as logarithms to the base 10.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prediction/convergence_model.h"

namespace fairlead::prediction {

enum class RateSchedule {
  kConstant,
  kDrops,   // falls in jumps
  kSmooth,  // cosine, linear, polynomial, inverse square root
};

// What the owner of a job says about it. Unknown magnitudes are 0.
struct JobDescription {
  std::string name;  // unique
  double parameters = 0;
  double layers = 0;
  double flop_per_sample = 0;
  double convolution_share = 0;  // of the parameters; likewise the next three
  double attention_share = 0;
  double recurrent_share = 0;
  double embedding_share = 0;
  double global_batch = 0;
  double learning_rate = 0;
  RateSchedule schedule = RateSchedule::kConstant;
  std::vector<double> rate_drops;  // iterations, in order; with kDrops
  bool is_adaptive = false;        // optimizer: Adam and its like
  bool is_synchronous = true;
  double samples_per_epoch = 0;
  double restarts = 0;
  // Training ends when the loss is this low, or after so many iterations; 0: not given.
  double target_loss = 0;
  double total_iterations = 0;
};

// One line of a job's log.
struct EpochReport {
  double iteration = 0;
  double loss = 0;
  double iteration_time_s = 0;  // mean of the epoch; 0: not measured
};

struct JobRecord {
  JobDescription description;
  std::vector<EpochReport> epochs;  // in order
};

inline constexpr std::array kFeatureNames = std::to_array<std::string_view>(
    {// model
     "log parameters", "layers", "log flop per sample", "convolution share", "attention share", "recurrent share",
     "embedding share",
     // hyper-parameters
     "log batch", "log learning rate", "rate drops", "rate smooth", "epochs to next drop", "adaptive optimizer",
     "synchronous", "log samples per epoch",
     // run status
     "epochs done", "loss level", "loss slope", "loss curvature", "fit residual", "fit usable", "upward share",
     "iteration time variation", "restarts"});
inline constexpr size_t kNumFeatures = kFeatureNames.size();
using FeatureValues = std::array<double, kNumFeatures>;

std::vector<LossPoint> LossCurve(std::span<const EpochReport> epochs);

// Args: `epochs` of the job so far. Returns: finite values for every input; a loss that is not finite counts as rising
// and as not fitted. Cost: one FitConvergence without interval.
FeatureValues ComputeFeatures(const JobDescription& job, std::span<const EpochReport> epochs);

}  // namespace fairlead::prediction
