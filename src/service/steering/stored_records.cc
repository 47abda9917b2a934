#include "service/steering/stored_records.h"

#include <optional>
#include <utility>
#include <vector>

namespace fairlead::service {
namespace {

std::vector<store::Change> Difference(const StoredRecords::Records& from, const StoredRecords::Records& to) {
  std::vector<store::Change> changes;
  for (const auto& [key, value] : to) {
    const auto before = from.find(key);
    if (before == from.end() || before->second != value) changes.push_back({key, value});
  }
  for (const auto& [key, value] : from) {
    if (!to.contains(key)) changes.push_back({key, std::nullopt});
  }
  return changes;
}

}  // namespace

Status StoredRecords::Load(std::string_view prefix) {
  FL_ASSIGN_OR_RETURN(const auto records, store_.List(prefix));
  for (const auto& [key, value] : records) records_[key] = value;
  return OkStatus();
}

Status StoredRecords::Keep(Records records) {
  const std::vector<store::Change> changes = Difference(records_, records);
  if (!changes.empty()) FL_RETURN_IF_ERROR(store_.Apply(changes));
  records_ = std::move(records);
  return OkStatus();
}

void StoredRecords::Forget(const std::string& key) {
  const store::Change forget = {key, std::nullopt};
  if (records_.contains(key) && store_.Apply({&forget, 1}).ok()) records_.erase(key);
}

}  // namespace fairlead::service
