#include "traffic/crux/correction_cache.h"

#include <utility>

namespace fairlead::traffic::crux {

CorrectionCache::CorrectionCache(CorrectionOptions options) : options_(std::move(options)) {}

CorrectionFactor CorrectionCache::Find(const LinkJob& reference, const LinkJob& job) {
  const Key key = {reference.compute_time.value(), reference.link_time.value(), reference.start_fraction,
                   job.compute_time.value(),       job.link_time.value(),       job.start_fraction};
  const auto found = factors_.find(key);
  if (found != factors_.end()) return found->second;
  if (factors_.size() == kMaxPairs) factors_.clear();
  return factors_.emplace(key, ComputeCorrectionFactor(reference, job, options_)).first->second;
}

}  // namespace fairlead::traffic::crux
