// Records of this module in the store: JSON texts of which each key is known.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/status.h"
#include "codec/json_archive.h"
#include "store/store.h"

namespace fairlead::slurm {

// kDataLoss. Args: what is wrong with it.
inline Status DamagedRecord(const store::Record& record, const std::string& what) {
  return {StatusCode::kDataLoss, fmt::format("store: record {} can't be read: {}", record.key, what)};
}

// Errors: kDataLoss, naming the record's key.
template <class Stored>
Result<Stored> ReadStored(const store::Record& record) {
  const auto json = codec::ParseJson(record.value, "the record");
  if (!json.ok()) return DamagedRecord(record, json.status().message());
  Stored stored;
  const std::string fault = codec::ReadValue(*json, codec::UnknownKeys::kRefused, &stored);
  if (!fault.empty()) return DamagedRecord(record, codec::WithoutJoint(fault));
  return stored;
}

}  // namespace fairlead::slurm
