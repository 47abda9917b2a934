#include "traffic/crux/correction_factor.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::traffic::crux {
namespace {

constexpr double kTolerance = 1e-9;

LinkJob MakeJob(double compute, double link, double start_fraction) {
  return {Seconds(compute), Seconds(link), start_fraction};
}

// Figure 11. J1 is the reference.
const LinkJob kExample1Reference = MakeJob(2, 2, 1);
const LinkJob kExample1Job = MakeJob(1, 1, 1);
// Figure 12. J1 is the reference.
const LinkJob kExample2Reference = MakeJob(4, 1, 0.5);
const LinkJob kExample2Job = MakeJob(2, 3, 0.5);

CorrectionOptions AsPrinted(double horizon, std::vector<InitialPhases> phases) {
  CorrectionOptions options;
  options.paper_mode = true;
  options.fixed_horizon = Seconds(horizon);
  options.explicit_phases = std::move(phases);
  return options;
}

void ExpectGains(const CorrectionFactor& correction, double reference_gain, double job_gain) {
  EXPECT_NEAR(correction.reference_gain.value(), reference_gain, 1e-6);
  EXPECT_NEAR(correction.job_gain.value(), job_gain, 1e-6);
}

TEST(CorrectionFactorTest, Figure11AtThreeHorizons) {
  // Table of Figure 11: d_1 = 6 - 4 = 2, d_2 = 6 - 3 = 3 in 12 s; both in proportion to longer horizons.
  for (const double scale : {1.0, 5.0, 50.0}) {
    const CorrectionFactor correction =
        ComputeCorrectionFactor(kExample1Reference, kExample1Job, AsPrinted(12 * scale, {{1, 1}}));
    ExpectGains(correction, 2 * scale, 3 * scale);
    EXPECT_NEAR(*correction.factor, 1.5, kTolerance);
  }
}

TEST(CorrectionFactorTest, Figure11OverTheGridOfPhases) {
  const CorrectionFactor correction = ComputeCorrectionFactor(kExample1Reference, kExample1Job, AsPrinted(12, {}));
  ExpectGains(correction, 2.0, 2.9375);
  EXPECT_NEAR(*correction.factor, 2.9375 / 2, kTolerance);  // 1.469
}

TEST(CorrectionFactorTest, Figure12IsUndefinedAsPrinted) {
  // Table of Figure 12: d_1 = 3 - 3 = 0, d_2 = 9 - 7 = 2. The jobs settle into interleaving, so later seconds add
  // nothing.
  for (const double horizon : {12.0, 60.0, 600.0}) {
    const CorrectionFactor correction =
        ComputeCorrectionFactor(kExample2Reference, kExample2Job, AsPrinted(horizon, {{0, 0.5}}));
    ExpectGains(correction, 0, 2);
    EXPECT_FALSE(correction.factor.has_value()) << "horizon " << horizon;
  }
}

TEST(CorrectionFactorTest, Figure12WithOtherPhases) {
  const CorrectionFactor both_half_way =
      ComputeCorrectionFactor(kExample2Reference, kExample2Job, AsPrinted(12, {{0.5, 0.5}}));
  ExpectGains(both_half_way, 0, 0);
  // Table of Figure 12, last two rows: d_1 = 3 - 2 = 1, d_2 = 9 - 7 = 2.
  const CorrectionFactor both_at_start =
      ComputeCorrectionFactor(kExample2Reference, kExample2Job, AsPrinted(12, {{0, 0}}));
  ExpectGains(both_at_start, 1, 2);
  const CorrectionFactor grid = ComputeCorrectionFactor(kExample2Reference, kExample2Job, AsPrinted(12, {}));
  ExpectGains(grid, 0.5, 1.5);
  EXPECT_NEAR(*grid.factor, 3, kTolerance);
}

TEST(CorrectionFactorTest, GuardsBoundTheFactor) {
  CorrectionOptions options = AsPrinted(12, {{0, 0.5}});
  options.paper_mode = false;
  // epsilon = 0.012 s: (2 + 0.012) / (0 + 0.012) = 167.7 is clamped to 4; with the roles swapped, to 1/4.
  EXPECT_EQ(*ComputeCorrectionFactor(kExample2Reference, kExample2Job, options).factor, 4);
  options.explicit_phases = {{0.5, 0}};
  EXPECT_EQ(*ComputeCorrectionFactor(kExample2Job, kExample2Reference, options).factor, 0.25);
  options.max_factor = 1000;
  EXPECT_NEAR(*ComputeCorrectionFactor(kExample2Job, kExample2Reference, options).factor, 0.012 / 2.012, kTolerance);
  // Gains of 0 and 2 s, both below an epsilon of .2 * 12 = 2.4 s: 1, not 4.4 / 2.4.
  options.epsilon = 0.2;
  options.explicit_phases = {{0, 0.5}};
  EXPECT_EQ(*ComputeCorrectionFactor(kExample2Reference, kExample2Job, options).factor, 1);
  options.epsilon = 1e-3;
  // Both gains 0.
  options.explicit_phases = {{0.5, 0.5}};
  EXPECT_EQ(*ComputeCorrectionFactor(kExample2Reference, kExample2Job, options).factor, 1);
}

TEST(CorrectionFactorTest, DefaultsOnFigure11) {
  // Horizon 6 periods of the slower job = 6 * 4 = 24 s. Whatever the gains are, the guarded factor follows from them.
  const CorrectionFactor correction = ComputeCorrectionFactor(kExample1Reference, kExample1Job, {});
  const double epsilon = 0.024;
  EXPECT_NEAR(*correction.factor,
              (correction.job_gain.value() + epsilon) / (correction.reference_gain.value() + epsilon), kTolerance);
  EXPECT_GT(*correction.factor, 1.3);
  EXPECT_LT(*correction.factor, 1.6);
}

TEST(CorrectionFactorTest, EqualJobsGetFactorOne) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const LinkJob job = MakeJob(random.Uniform(0.1, 3), random.Uniform(0.1, 3), random.Uniform());
    // The grid is symmetric, so are the gains.
    EXPECT_NEAR(*ComputeCorrectionFactor(job, job, {}).factor, 1, 1e-6) << "seed " << seed;
  }
}

TEST(CorrectionFactorTest, ACommonScaleOfTimeChangesNothing) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const LinkJob a = MakeJob(random.Uniform(0.1, 3), random.Uniform(0.1, 3), random.Uniform());
    const LinkJob b = MakeJob(random.Uniform(0.1, 3), random.Uniform(0.1, 3), random.Uniform());
    // A power of two scales without rounding.
    const LinkJob slow_a = MakeJob(8 * a.compute_time.value(), 8 * a.link_time.value(), a.start_fraction);
    const LinkJob slow_b = MakeJob(8 * b.compute_time.value(), 8 * b.link_time.value(), b.start_fraction);
    EXPECT_EQ(*ComputeCorrectionFactor(a, b, {}).factor, *ComputeCorrectionFactor(slow_a, slow_b, {}).factor);
  }
}

TEST(CorrectionFactorTest, ABoundOnIterationsBoundsTheRun) {
  // A job of 1 us beside one of 1 s: 6 s would be 6 million iterations. 1,000 iterations are 1 ms, in which the slow
  // job, not yet sending, gains nothing and takes nothing.
  CorrectionOptions options;
  options.max_iterations = 1000;
  options.explicit_phases = {{0, 0}};
  const CorrectionFactor correction = ComputeCorrectionFactor(MakeJob(1, 1, 1), MakeJob(0.5e-6, 0.5e-6, 1), options);
  ExpectGains(correction, 0, 0);
  EXPECT_EQ(*correction.factor, 1);
}

TEST(CorrectionFactorTest, OptionsOutOfRangeAreNamed) {
  CorrectionOptions options;
  EXPECT_TRUE(options.Validate().ok());
  options.max_factor = 0.5;
  EXPECT_EQ(options.Validate(), InvalidArgument("crux correction factor: max_factor: expected >= 1, found 0.5"));
  options = {};
  options.num_phases = 0;
  EXPECT_FALSE(options.Validate().ok());
  options = {};
  options.explicit_phases = {{0.5, 1.5}};
  EXPECT_FALSE(options.Validate().ok());
  options = {};
  options.epsilon = 0;
  EXPECT_FALSE(options.Validate().ok());
  options = {};
  options.horizon_periods = -1;
  EXPECT_FALSE(options.Validate().ok());
}

}  // namespace
}  // namespace fairlead::traffic::crux
