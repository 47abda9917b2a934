// Records as the store has them, so that only those that differ are written.
//
// Thread      one at a time, and no other writes records of that prefix; the store may be shared.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace fairlead::service {

class StoredRecords {
 public:
  using Records = std::map<std::string, std::string>;

  // `store` must outlive this.
  explicit StoredRecords(store::Store* store) : store_(*store) {}

  // Reads all below the prefix. Before anything else. Errors: those of the store.
  Status Load(std::string_view prefix);
  // Brings the store to these, all at once. Errors: those of the store; then nothing has changed.
  Status Keep(Records records);
  // Removes the record, if it is there. A store that refuses leaves it, until the next Keep() without it.
  void Forget(const std::string& key);

  const Records& records() const { return records_; }

 private:
  store::Store& store_;
  Records records_;
};

}  // namespace fairlead::service
