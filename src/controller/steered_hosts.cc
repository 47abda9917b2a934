#include "controller/steered_hosts.h"

#include <array>
#include <utility>

namespace fairlead::controller {

std::string_view Name(HostCondition condition) {
  static constexpr std::array<std::string_view, 7> kNames = {"unknown",   "in_job",   "spare",   "reserved",
                                                             "isolating", "isolated", "in_doubt"};
  return kNames.at(static_cast<size_t>(condition));
}

std::optional<HostCondition> SteeredHosts::ConditionOf(HostId host) const {
  if (isolating_.contains(host)) return HostCondition::kIsolating;
  if (isolated_.contains(host)) return HostCondition::kIsolated;
  if (in_doubt_.contains(host)) return HostCondition::kInDoubt;
  if (spares_.contains(host)) return HostCondition::kSpare;
  return std::nullopt;
}

std::set<HostId> SteeredHosts::Marked() const {
  std::set<HostId> hosts = isolated_;
  hosts.insert(spares_.begin(), spares_.end());
  hosts.insert(in_doubt_.begin(), in_doubt_.end());
  return hosts;
}

std::optional<HostId> SteeredHosts::TakeSpare() {
  if (spares_.empty()) return std::nullopt;
  return spares_.extract(spares_.begin()).value();
}

void SteeredHosts::BeginIsolation(HostId host) {
  isolated_.insert(host);
  isolating_.insert(host);
}

void SteeredHosts::CancelIsolation(HostId host) {
  isolated_.erase(host);
  isolating_.erase(host);
}

void SteeredHosts::GiveUpIsolation(HostId host) {
  CancelIsolation(host);
  Doubt(host);
}

std::optional<uint64_t> SteeredHosts::EndTest(HostId host) {
  const auto test = tests_.extract(host);
  if (test.empty()) return std::nullopt;
  return test.mapped();
}

void SteeredHosts::FinishReturn(HostId host) {
  returning_.erase(host);
  CancelIsolation(host);
}

void SteeredHosts::Abandon() {
  isolating_.clear();
  returning_.clear();
  tests_.clear();
}

SteeredHosts::Kept SteeredHosts::Keep() const {
  Kept kept{spares_, isolated_, in_doubt_, returning_, isolating_};
  for (const auto& [host, action] : tests_) kept.tests.push_back({host, action});
  return kept;
}

void SteeredHosts::Restore(Kept kept) {
  spares_ = std::move(kept.spares);
  isolated_ = std::move(kept.isolated);
  in_doubt_ = std::move(kept.in_doubt);
  returning_ = std::move(kept.returning);
  isolating_ = std::move(kept.isolating);
  for (const Test& test : kept.tests) tests_[test.host] = test.action;
}

void SteeredHosts::ForgetLost() {
  for (std::set<HostId>* hosts : {&spares_, &isolated_, &in_doubt_, &returning_, &isolating_}) hosts->erase(HostId());
  tests_.erase(HostId());
}

}  // namespace fairlead::controller
