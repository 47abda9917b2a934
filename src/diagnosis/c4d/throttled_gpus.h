// Of which ranks did hosts report that their GPU's clocks were down: in the window, and ever?
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "base/ids.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class ThrottledGpus {
 public:
  // Args: layout, must outlive this.
  explicit ThrottledGpus(const model::JobLayout& layout) : layout_(layout) {}

  void Add(const model::HostReport& report) {
    for (const model::HostSymptomRecord& symptom : report.symptoms) {
      if (symptom.symptom != model::HostSymptom::kGpuThrottled) continue;
      of_window_.insert({report.host, symptom.device});
      of_job_.insert({report.host, symptom.device});
    }
  }
  void EndWindow() { of_window_.clear(); }

  // Whether one of these ranks has such a GPU. Args: ranks of the layout.
  bool IsInWindow(std::span<const model::RankId> ranks) const { return HasAny(of_window_, ranks); }
  bool WasEver(std::span<const model::RankId> ranks) const { return HasAny(of_job_, ranks); }

 private:
  using Gpus = std::set<std::pair<HostId, uint32_t>>;  // (host, GPU)

  bool HasAny(const Gpus& gpus, std::span<const model::RankId> ranks) const {
    return std::ranges::any_of(ranks, [&](model::RankId rank) {
      const model::RankPlace& place = layout_.ranks[rank.index()];
      return gpus.contains({place.host, place.gpu});
    });
  }

  const model::JobLayout& layout_;
  Gpus of_window_;
  Gpus of_job_;
};

}  // namespace fairlead::diagnosis::c4d
