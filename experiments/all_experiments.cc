#include "experiments/all_experiments.h"

#include "experiments/crux-examples/crux_examples.h"
#include "experiments/crux-near-optimality/near_optimality.h"
#include "experiments/crux-testbed/crux_testbed.h"
#include "experiments/embedded_texts.h"

namespace fairlead::experiments {

std::vector<experiment::Experiment> AllExperiments() {
  return {
      {"crux-examples", FindEmbeddedText("experiments/crux-examples/paper.yaml"), crux_examples::Run},
      {"crux-near-optimality", FindEmbeddedText("experiments/crux-near-optimality/paper.yaml"),
       crux_near_optimality::Run},
      {"crux-testbed", FindEmbeddedText("experiments/crux-testbed/paper.yaml"), crux_testbed::Run},
  };
}

}  // namespace fairlead::experiments
