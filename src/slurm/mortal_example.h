// For tests: a process that is killed at one of its calls to Slurm or to the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "slurm/programs.h"
#include "store/store.h"

namespace fairlead::slurm {

struct Killed {};

// Dies at one of the calls that it counts: before it has an effect, or after, when its answer is lost.
struct Death {
  size_t at_call = SIZE_MAX;
  bool is_after = false;
  size_t num_calls = 0;

  template <class Call>
  auto operator()(const Call& call) {
    const bool is_now = num_calls++ == at_call;
    if (is_now && !is_after) throw Killed();
    auto result = call();
    if (is_now) throw Killed();
    return result;
  }
};

class MortalPrograms final : public Programs {
 public:
  MortalPrograms(Programs* programs, Death* death) : programs_(*programs), death_(*death) {}
  Result<std::string> Run(const Command& command) override {
    return death_([&] { return programs_.Run(command); });
  }

 private:
  Programs& programs_;
  Death& death_;
};

class MortalStore final : public store::Store {
 public:
  MortalStore(store::Store* store, Death* death) : store_(*store), death_(*death) {}
  Status Apply(std::span<const store::Change> changes) override {
    return death_([&] { return store_.Apply(changes); });
  }
  Result<std::vector<store::Record>> List(std::string_view prefix) const override { return store_.List(prefix); }

 private:
  store::Store& store_;
  Death& death_;
};

}  // namespace fairlead::slurm
