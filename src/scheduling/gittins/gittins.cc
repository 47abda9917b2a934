#include "scheduling/gittins/gittins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::gittins {

Status GittinsOptions::Validate() const {
  FL_RETURN_IF_ERROR(queues.Validate());
  for (const double sample : service_samples) {
    if (!(sample > 0) || !std::isfinite(sample)) {
      return InvalidArgument(fmt::format("gittins: a service sample is {}; expected positive GPU-seconds", sample));
    }
  }
  if (quantum_gpu_s > 0) return OkStatus();
  return InvalidArgument(fmt::format("gittins: quantum_gpu_s is {}; expected more than 0", quantum_gpu_s));
}

GittinsIndex::GittinsIndex(std::vector<double> samples, double quantum)
    : samples_(std::move(samples)), prefix_sums_(1, 0), quantum_(quantum) {
  std::ranges::sort(samples_);
  for (const double sample : samples_) prefix_sums_.push_back(prefix_sums_.back() + sample);
}

double GittinsIndex::At(double attained) const {
  const auto above = static_cast<size_t>(std::ranges::upper_bound(samples_, attained) - samples_.begin());
  const auto beyond = static_cast<size_t>(std::ranges::upper_bound(samples_, attained + quantum_) - samples_.begin());
  if (above == samples_.size()) return 0;
  const auto num_within = static_cast<double>(beyond - above);
  const double spent = prefix_sums_[beyond] - prefix_sums_[above] - num_within * attained +
                       static_cast<double>(samples_.size() - beyond) * quantum_;
  return spent > 0 ? num_within / spent : 0;
}

namespace {

class Gittins : public AllocationPolicy {
 public:
  explicit Gittins(const GittinsOptions& options)
      : options_(options), index_(options.service_samples, options.quantum_gpu_s) {}
  std::string_view name() const override { return "gittins"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    UpdateQueues(snapshot, options_.queues, &plan);
    const GittinsIndex learned = LearnIndex(snapshot);
    const GittinsIndex& index = options_.service_samples.empty() ? learned : index_;
    for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
      plan.jobs[j].reason.score = index.At(AttainedGpuSeconds(snapshot.jobs[j], snapshot.units));
    }
    ServiceOrder order = BySubmission(snapshot);
    // Equals by when they entered their queue, as in Tiresias without samples.
    std::ranges::stable_sort(order, {}, [&](uint32_t j) {
      const JobMemory& memory = plan.jobs[j].memory;
      return std::tuple(memory.queue, -plan.jobs[j].reason.score, memory.queue_since, memory.queue_order);
    });
    Resources room = TotalCapacity(snapshot);
    GrantRequested(snapshot, order, false, &room, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kByService, &plan);
    return plan;
  }

  // Of jobs that ended; too few say nothing.
  GittinsIndex LearnIndex(const AllocationSnapshot& snapshot) const {
    std::vector<double> samples;
    if (options_.service_samples.empty() && snapshot.ended_service.size() >= kFewestSamples) {
      for (const double service : snapshot.ended_service) {
        if (service > 0) samples.push_back(service);
      }
    }
    return GittinsIndex(std::move(samples), options_.quantum_gpu_s);
  }

  static constexpr size_t kFewestSamples = 30;

  const GittinsOptions options_;
  const GittinsIndex index_;
};

}  // namespace

Result<std::unique_ptr<AllocationPolicy>> CreateGittins(const GittinsOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<Gittins>(options));
}

}  // namespace fairlead::scheduling::gittins
