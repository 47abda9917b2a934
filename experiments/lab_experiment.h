// What the experiments in the lab share: their scenarios as files, and the message where a lab can't be created.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "lab/lab_comparison.h"
#include "lab/lab_session.h"
#include "lab/steered_lab.h"
#include "sim/scenario.h"

namespace fairlead::experiments {

// A scenario that is embedded in the program, as a file for the programs in the lab, beside the workloads that it may
// refer to. The files go with this object.
class LabScenario {
 public:
  // Args: name: "scenarios/lab-eight-jobs.yaml". Errors: kUnavailable: no room for the file.
  static Result<LabScenario> Write(std::string_view name);
  ~LabScenario();
  LabScenario(LabScenario&& other) noexcept;
  LabScenario& operator=(LabScenario&&) = delete;

  const std::string& file() const { return file_; }
  const sim::Scenario& scenario() const { return scenario_; }

 private:
  LabScenario() = default;

  std::string folder_;
  std::string file_;
  sim::Scenario scenario_;
};

// A lab of this process, at 1/10,000 of the speeds; its first hash seed is that of the experiment.
lab::LabSessionOptions LabOptionsOf(const experiment::RunContext& context);
// The same with a controller that diagnoses, and with steering that acts or not. Errors: kUnavailable: no free port.
Result<lab::SteeredLabOptions> SteeredLabOptionsOf(const experiment::RunContext& context, bool acts);

// How much an experiment that compares hashed and steered runs measures.
struct ComparisonSize {
  uint32_t num_seeds = 5;  // labs, with different hashes in their switches; one with --reduced
  double seconds = 0;      // of each run
  double reduced_seconds = 0;
  double warm_up_s = 3;
};
// As lab::CompareInLab, which has the errors; says how far it is.
Result<lab::LabComparison> Compare(const LabScenario& lab_scenario, const ComparisonSize& size,
                                   const experiment::RunContext& context);
// What was run, as a note.
std::string DescribeRuns(const lab::LabComparison& comparison);

// By how many percent iterations in the lab are longer or shorter than the simulator's.
class IterationDifferences {
 public:
  // Mean iterations, in seconds. Nothing is added where the lab has none (0).
  void Add(double lab_s, double simulated_s);
  // NaN: there are none.
  double Median() const;

 private:
  std::vector<double> percent_;
};

// Of the steered jobs: median over jobs and seeds.
double MedianDifference(const lab::LabComparison& comparison);

// Where the user has no right to make a lab, or Ctrl-C came, an experiment has no values but a note; all other errors
// are its own.
Result<experiment::Outcome> WithoutLab(const Status& status);

}  // namespace fairlead::experiments
