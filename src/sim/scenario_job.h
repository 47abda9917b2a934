// A job of a scenario: what the controller sees of it, and what its iterations are made of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "collective/collective_sequence.h"
#include "collective/simple_iteration.h"
#include "collective/training_iteration.h"
#include "model/job.h"

namespace fairlead::sim {

// No duration and no instant of a scenario is longer: the clock ends at 9e9 s.
inline constexpr double kMaxSeconds = 1e9;

// A job with an iteration from a model profile.
struct ProfiledWork {
  std::string profile;
  std::optional<model::Parallelism> parallelism;  // nothing: the profile's default for the number of GPUs
  collective::IterationOptions options;
};

// A job with an iteration described elsewhere: a SimAI workload, Chakra traces.
struct ImportedWork {
  std::shared_ptr<const collective::CollectiveSequence> sequence;  // shared by equal jobs
  model::Parallelism parallelism;
  collective::SequenceOptions options;
};

struct ScenarioJob {
  model::Job job;
  std::variant<ProfiledWork, collective::SimpleIterationSpec, ImportedWork> work;
};

}  // namespace fairlead::sim
