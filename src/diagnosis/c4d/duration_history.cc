#include "diagnosis/c4d/duration_history.h"

#include <algorithm>
#include <bit>

namespace fairlead::diagnosis::c4d {
namespace {

uint8_t SizeClassOf(uint64_t bytes) { return static_cast<uint8_t>(std::bit_width(bytes)); }

}  // namespace

void DurationHistory::Add(model::OperationKind kind, uint64_t bytes, SimDuration duration) {
  const uint8_t size_class = SizeClassOf(bytes);
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& e) { return e.kind == kind && e.size_class == size_class; });
  if (entry == entries_.end()) entry = entries_.insert(entry, Entry{.kind = kind, .size_class = size_class});
  entry->seconds[entry->count++ % kCapacity] = static_cast<float>(duration.seconds().value());
}

SimDuration DurationHistory::Median(model::OperationKind kind, uint64_t bytes) const {
  const uint8_t size_class = SizeClassOf(bytes);
  for (const Entry& entry : entries_) {
    if (entry.kind != kind || entry.size_class != size_class) continue;
    std::array<float, kCapacity> sorted = entry.seconds;
    const size_t count = std::min<size_t>(entry.count, kCapacity);
    std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.begin() + count);
    return SimDuration::FromSeconds(Seconds(sorted[count / 2]));
  }
  return SimDuration(0);
}

}  // namespace fairlead::diagnosis::c4d
