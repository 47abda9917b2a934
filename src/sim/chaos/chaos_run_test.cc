// The live system under faults, on virtual time.
#include <gtest/gtest.h>

#include "sim/chaos/chaos_run.h"

namespace fairlead::sim::chaos {
namespace {

ChaosOptions Draw(uint64_t seed, double faults_per_second = 1) {
  ChaosOptions options;
  options.seed = seed;
  const std::vector<FaultKind> kinds = AllFaultKinds();
  options.faults = DrawFaults(seed, kinds, faults_per_second, SimTime() + options.faulty_for);
  return options;
}

uint64_t First() { return std::getenv("FIRST") ? std::stoull(std::getenv("FIRST")) : 0; }
uint64_t Count() { return std::getenv("COUNT") ? std::stoull(std::getenv("COUNT")) : 100; }
double Rate() { return std::getenv("RATE") ? std::stod(std::getenv("RATE")) : 1; }

TEST(ChaosRunTest, DISABLED_Trace) {
  ChaosOptions options = Draw(std::stoull(std::getenv("SEED")), std::stod(std::getenv("RATE")));
  options.log = [](SimTime at, const std::string& text) { printf("%.6f %s\n", at.seconds().value(), text.c_str()); };
  const ChaosResult result = RunChaos(options);
  if (result.violation) printf("VIOLATION %s: %s\n", result.violation->law.c_str(), result.violation->text.c_str());
}

TEST(ChaosRunTest, WithoutFaultsAllLawsHold) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ChaosResult result = RunChaos(Draw(seed, 0));
    EXPECT_FALSE(result.violation.has_value()) << seed << ": " << result.violation->law << ": " << result.violation->text;
    EXPECT_GT(result.num_opened, 0u);
  }
}

TEST(ChaosRunTest, UnderFaultsAllLawsHold) {
  for (uint64_t seed = First(); seed < First() + Count(); ++seed) {
    const ChaosResult result = RunChaos(Draw(seed, Rate()));
    EXPECT_FALSE(result.violation.has_value())
        << seed << " at " << result.violation->at.seconds().value() << " s: " << result.violation->law << ": "
        << result.violation->text;
  }
}

}  // namespace
}  // namespace fairlead::sim::chaos
