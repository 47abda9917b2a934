#include "scheduling/gavel/gavel.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "scheduling/job_sizes.h"
#include "scheduling/share_rounds.h"

namespace fairlead::scheduling::gavel {

Status GavelOptions::Validate() const {
  if (round_s > 0) return OkStatus();
  return InvalidArgument(fmt::format("gavel: round_s is {}; expected more than 0", round_s));
}

namespace {

double FairSpeed(const GavelJob& job, const std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  return total > 0 ? std::inner_product(counts.begin(), counts.end(), job.speeds.begin(), 0.0) / total : 0;
}

class Gavel : public ShareRounds {
 public:
  explicit Gavel(const GavelOptions& options) : ShareRounds(options.round_s), goal_(options.goal) {}
  std::string_view name() const override { return goal_ == GavelGoal::kMaxMin ? "gavel" : "gavel-throughput"; }

 private:
  Result<TypeShares> SolveShares(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                                 const std::vector<double>& counts, const AllocationPlan& /*plan*/) const override {
    std::vector<GavelJob> jobs;
    for (const uint32_t j : order) {
      const AllocationJob& job = snapshot.jobs[j];
      jobs.push_back({static_cast<double>(RequestedSize(job).num_gpus), job.weight > 0 ? job.weight : 1,
                      SpeedsOnTypes(job, counts)});
    }
    if (goal_ == GavelGoal::kMaxMin) return SolveMaxMinShares(jobs, counts);
    std::vector<ShareJob> plain;
    for (GavelJob& job : jobs) plain.push_back({job.num_gpus, std::move(job.speeds), 0});
    return SolveLargestSum(plain, counts);
  }

  const GavelGoal goal_;
};

}  // namespace

Result<TypeShares> SolveMaxMinShares(const std::vector<GavelJob>& jobs, const std::vector<double>& counts) {
  std::vector<ShareJob> needs;
  for (const GavelJob& job : jobs) {
    const double scale = job.num_gpus > 0 ? job.num_gpus : 1;  // jobs of cores alone
    needs.push_back({job.num_gpus, job.speeds, job.weight * FairSpeed(job, counts) / scale});
  }
  return SolveLargestMultiple(needs, counts);
}

Result<std::unique_ptr<AllocationPolicy>> CreateGavel(const GavelOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<Gavel>(options));
}

}  // namespace fairlead::scheduling::gavel
