// What each job lost, to which job and where: an account with rows that add up to the measured loss.
//
// Problem     A job that is behind its time alone asks why. Its communication may be slow for many reasons at once, and
//             may be slow without costing anything, hidden behind compute.
// Notation    R  nanoseconds that the job would need alone for the rest of its iteration (JobState::SoloNsLeft)
// Method      1. What is lost. R falls by one per nanosecond while the job is as fast as alone, by less while it isn't.
//                Over one run of a phase, from b to e, the job loses (e - b) + R(e) - R(b): nothing where the delay
//                hides behind compute, as R is a longest path. Between phases it loses nothing but waits for its shift.
//             2. To whom. While a phase runs, the transfer that ends last at present rates is examined: its missing
//                rate relative to the yardstick is divided among the users of the link that bounds it, by their load;
//                the job itself counts with what its yardstick's rates need beyond the link, a degraded link with its
//                missing capacity. When the phase ends, these shares are scaled to what it lost.
// Guarantees  No negative row. All rows of a job add up to time held - work x time alone, to rounding (a nanosecond a
//             phase) and to what fast-forward states as its error.
// Reference   Crux section 3 asks the same question with GPU intensity; the account is ours.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "sim/loss_cause.h"

namespace fairlead::sim {

struct JobState;

// Sums by key, each at a place that never changes.
template <class Key, class Value>
class KeyedSums {
 public:
  // The place of a key; new keys start at zero. Places are dense.
  size_t Index(const Key& key) {
    const auto [entry, is_new] = index_.try_emplace(key, values_.size());
    if (is_new) values_.emplace_back();
    return entry->second;
  }
  void Add(const Key& key, const Value& value) { values_[Index(key)] += value; }

  // [place]
  const std::vector<Value>& values() const { return values_; }
  std::span<Value> values() { return values_; }
  // key -> place, by key.
  const std::map<Key, size_t>& index() const { return index_; }

  // [place]; they live as long as this.
  std::vector<const Key*> KeysByPlace() const {
    std::vector<const Key*> keys(values_.size());
    for (const auto& [key, place] : index_) keys[place] = &key;
    return keys;
  }

  void MergeFrom(const KeyedSums& other) {
    for (const auto& [key, place] : other.index_) Add(key, other.values_[place]);
  }

 private:
  std::map<Key, size_t> index_;
  std::vector<Value> values_;
};

struct LossKey {
  JobId victim;
  LossCause cause = LossCause::kNotAttributed;
  JobId culprit;  // of kJob, kLevel, kProfiling; invalid otherwise
  LinkId link;    // invalid: none

  friend auto operator<=>(const LossKey&, const LossKey&) = default;
};

struct LostTime {
  double s = 0;
  double gpu_s = 0;  // the same times the GPUs that the job held

  LostTime& operator+=(const LostTime& other) {
    s += other.s;
    gpu_s += other.gpu_s;
    return *this;
  }
  friend LostTime operator*(double factor, const LostTime& time) { return {factor * time.s, factor * time.gpu_s}; }
  friend LostTime operator-(const LostTime& a, const LostTime& b) { return {a.s - b.s, a.gpu_s - b.gpu_s}; }
};

struct BoundKey {
  JobId job;
  LinkId link;

  friend auto operator<=>(const BoundKey&, const BoundKey&) = default;
};

struct DelayAccount {
  KeyedSums<LossKey, LostTime> losses;
  KeyedSums<BoundKey, double> bounds;  // seconds for which the link bounded the job's slowest transfer

  // Args: lost_s; nothing is booked for 0 or less.
  void Attribute(const JobState& job, LossCause cause, double lost_s);
  // The running phase cost the job `lost_s`: shared over what was seen to hold it up, which is forgotten. Below 0, as
  // where new paths in the middle of a phase made it faster than any choice of paths alone, it makes up for the next
  // losses.
  void RecordPhase(JobState& job, double lost_s);
  // What the job lost meanwhile, by the proportions of what it has lost so far. Below 0: it had lost so much less; what
  // is more than that makes up for its next losses.
  void AttributeMore(JobState& job, double lost_s);

  void MergeFrom(const DelayAccount& other) {
    losses.MergeFrom(other.losses);
    bounds.MergeFrom(other.bounds);
  }
};

}  // namespace fairlead::sim
