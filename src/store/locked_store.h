// A store that several threads share: one call at a time.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"

namespace fairlead::store {

class LockedStore final : public Store {
 public:
  explicit LockedStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Status Apply(std::span<const Change> changes) override {
    const std::lock_guard lock(mutex_);
    return store_->Apply(changes);
  }
  Result<std::vector<Record>> List(std::string_view prefix) const override {
    const std::lock_guard lock(mutex_);
    return store_->List(prefix);
  }

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<Store> store_;
};

}  // namespace fairlead::store
