#include "experiments/crux-examples/crux_examples.h"

#include "experiments/crux-examples/compression_examples.h"
#include "experiments/crux-examples/pair_examples.h"

namespace fairlead::experiments::crux_examples {

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  AddPairExamples(&outcome);
  AddCompressionExamples(context.seed, &outcome);
  outcome.notes.emplace_back(
      "No acceptance band is published for these: they are exact, and a test of this experiment holds every one of "
      "them "
      "to the worked value.");
  return outcome;
}

}  // namespace fairlead::experiments::crux_examples
