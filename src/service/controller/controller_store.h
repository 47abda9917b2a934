// The store of a controller: where it is, and what an earlier controller has left there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace fairlead::service {

// Args: where: "sqlite:PATH" or "memory"; restore_copy: put the last good copy in the place of one that can't be read.
// Errors: kInvalidArgument: `where`; those of SqliteStore::Open, but for a full disk, which is kUnavailable.
Result<std::unique_ptr<store::Store>> OpenControllerStore(const std::string& where, bool restore_copy);

// How often a controller has started on this store, this time included. Errors: kDataLoss, kUnavailable.
Result<uint32_t> CountStart(store::Store* store);

// All records, by key. Errors: the store's.
Result<std::vector<std::pair<std::string, std::string>>> LoadRecords(const store::Store& store);

}  // namespace fairlead::service
