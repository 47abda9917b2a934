#include "sim/elastic/sia_rules.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace fairlead::sim {
namespace {

struct SiaApplication {
  std::string_view name;
  double restart_s = 30;
  double expected_restart_s = 30;
  double slowdown = 1;
};

constexpr SiaApplication kSiaApplications[] = {
    {"cifar10", 50, 30, 1.8}, {"deepspeech2", 25, 25, 1.2}, {"bert", 120, 120, 1.2},
    {"yolov3", 80, 45, 1.2},  {"imagenet", 250, 250, 1.2},  {"ncf", 15, 30, 1.5},
};

}  // namespace

void ApplySiaRules(std::vector<ElasticJobSpec>* jobs) {
  for (ElasticJobSpec& job : *jobs) {
    if (job.profile == nullptr) continue;
    const auto* const known = std::ranges::find(kSiaApplications, job.profile->name(), &SiaApplication::name);
    const SiaApplication rules = known == std::end(kSiaApplications) ? SiaApplication{} : *known;
    job.restart_s = rules.restart_s;
    job.expected_restart_s = rules.expected_restart_s;
    job.slowdown = rules.slowdown;
  }
}

void ApplySiaRules(ElasticOptions* options) { options->moves_are_free = true; }

}  // namespace fairlead::sim
