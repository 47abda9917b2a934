#include "traffic/crux/priority_compression_reference.h"

#include <limits>

#include "base/check.h"

namespace fairlead::traffic::crux {
namespace {

class Enumeration {
 public:
  Enumeration(const ContentionDag& dag, uint32_t num_levels) : dag_(dag), num_levels_(num_levels) {
    levels_.assign(dag.num_jobs, 0);
    best_.loss = std::numeric_limits<double>::infinity();
    for (const Edge& edge : dag.edges) has_negative_ |= edge.weight < 0;
  }

  Compression Run() {
    TryLevelsFrom(0, 0);
    return best_;
  }

 private:
  // Ranks below `job` have their levels and lose `loss` among themselves.
  void TryLevelsFrom(uint32_t job, double loss) {
    if (!has_negative_ && loss >= best_.loss) return;
    if (job == dag_.num_jobs) {
      if (loss >= best_.loss) return;
      best_ = {levels_, loss};
      return;
    }
    for (uint32_t level = 0; level < num_levels_; ++level) {
      levels_[job] = level;
      bool valid = true;
      double more = 0;
      for (const Edge& edge : dag_.edges) {
        if (edge.lower != job) continue;
        valid = valid && levels_[edge.upper] <= level;
        if (levels_[edge.upper] == level) more += edge.weight;
      }
      if (valid) TryLevelsFrom(job + 1, loss + more);
    }
  }

  const ContentionDag& dag_;
  const uint32_t num_levels_;
  bool has_negative_ = false;  // then a loss may still fall
  std::vector<uint32_t> levels_;
  Compression best_;
};

}  // namespace

Compression CompressPrioritiesReference(const ContentionDag& dag, uint32_t num_levels) {
  FL_CHECK(num_levels >= 1 && dag.num_jobs <= 10);
  return Enumeration(dag, num_levels).Run();
}

}  // namespace fairlead::traffic::crux
