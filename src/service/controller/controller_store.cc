#include "service/controller/controller_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <string_view>

#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace fairlead::service {

namespace {

constexpr char kStartsKey[] = "controller/starts";
constexpr std::string_view kSqlitePrefix = "sqlite:";

// At runtime it waits for space on a full disk; a start is refused, independent of the request.
Status AtStart(const Status& status) {
  return status.code() == StatusCode::kResourceExhausted ? Unavailable(status.message()) : status;
}

}  // namespace

Result<std::unique_ptr<store::Store>> OpenControllerStore(const std::string& where, bool restore_copy) {
  if (where == "memory") return std::unique_ptr<store::Store>(std::make_unique<store::MemoryStore>());
  if (!where.starts_with(kSqlitePrefix)) {
    return InvalidArgument(fmt::format("--store: expected sqlite:PATH or memory, found '{}'", where));
  }
  const std::string path = where.substr(kSqlitePrefix.size());
  auto opened = store::SqliteStore::Open({.path = path});
  if (!opened.ok() && opened.status().code() == StatusCode::kDataLoss && restore_copy) {
    spdlog::warn("{}", opened.status().message());
    FL_RETURN_IF_ERROR(store::SqliteStore::RestoreCopy(path));
    spdlog::warn("store {}: went on from its last good copy", path);
    opened = store::SqliteStore::Open({.path = path});
  }
  if (!opened.ok()) return AtStart(opened.status());
  return std::unique_ptr<store::Store>(std::move(opened).value());
}

Result<uint32_t> CountStart(store::Store* store) {
  FL_ASSIGN_OR_RETURN(const auto records, store->List(kStartsKey));
  uint32_t starts = 0;
  if (!records.empty()) {
    const std::string& value = records.front().value;
    if (std::from_chars(value.data(), value.data() + value.size(), starts).ec != std::errc()) {
      return Status(StatusCode::kDataLoss, fmt::format("store: record {} is not a number", kStartsKey));
    }
  }
  ++starts;
  const store::Change change = {kStartsKey, std::to_string(starts)};
  FL_RETURN_IF_ERROR(AtStart(store->Apply({&change, 1})));
  return starts;
}

Result<std::vector<std::pair<std::string, std::string>>> LoadRecords(const store::Store& store) {
  FL_ASSIGN_OR_RETURN(const auto records, store.List(""));
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(records.size());
  for (const store::Record& record : records) pairs.emplace_back(record.key, record.value);
  return pairs;
}

}  // namespace fairlead::service
