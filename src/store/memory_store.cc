#include "store/memory_store.h"

namespace fairlead::store {

Status MemoryStore::Apply(std::span<const Change> changes) {
  for (const Change& change : changes) {
    if (change.value.has_value()) {
      records_[change.key] = *change.value;
    } else {
      records_.erase(change.key);
    }
  }
  return OkStatus();
}

Result<std::vector<Record>> MemoryStore::List(std::string_view prefix) const {
  std::vector<Record> records;
  for (auto it = records_.lower_bound(prefix); it != records_.end() && it->first.starts_with(prefix); ++it) {
    records.push_back({it->first, it->second});
  }
  return records;
}

}  // namespace fairlead::store
