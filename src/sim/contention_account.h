// Who waits for whom, and where: seconds that each job lost on each link because of each other job.
//
// Filled by sampling: at sample instants each communicating job's slowest transfer is looked at; the link that bounds
// it and the jobs that share that link are written down with the sample's weight in seconds.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"

namespace fairlead::sim {

struct ContentionKey {
  JobId victim;
  JobId culprit;  // invalid: the total over all causes; equal to victim: flows of one job collide with each other
  LinkId link;

  friend auto operator<=>(const ContentionKey&, const ContentionKey&) = default;
};

struct ContentionValue {
  double shared_s = 0;   // the link bounded the victim while the culprit was on it
  double lost_s = 0;     // of that time, what the victim would have saved without the culprit
  double yielded_s = 0;  // of lost_s, the part in which the victim stood on a lower priority level

  ContentionValue& operator+=(const ContentionValue& other) {
    shared_s += other.shared_s;
    lost_s += other.lost_s;
    yielded_s += other.yielded_s;
    return *this;
  }
  ContentionValue& operator*=(double factor) {
    shared_s *= factor;
    lost_s *= factor;
    yielded_s *= factor;
    return *this;
  }
};

class ContentionAccount {
 public:
  // The place of a key; new keys start at zero. Places are dense and never change.
  size_t Index(const ContentionKey& key) {
    const auto [entry, is_new] = index_.try_emplace(key, values_.size());
    if (is_new) values_.emplace_back();
    return entry->second;
  }
  ContentionValue& at(size_t index) { return values_[index]; }
  void Add(const ContentionKey& key, const ContentionValue& value) { values_[Index(key)] += value; }

  // [place]
  const std::vector<ContentionValue>& values() const { return values_; }
  std::span<ContentionValue> values() { return values_; }
  // key -> place, by key.
  const std::map<ContentionKey, size_t>& index() const { return index_; }

  void MergeFrom(const ContentionAccount& other) {
    for (const auto& [key, place] : other.index_) Add(key, other.values_[place]);
  }

 private:
  std::map<ContentionKey, size_t> index_;
  std::vector<ContentionValue> values_;
};

}  // namespace fairlead::sim
