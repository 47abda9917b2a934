#include "store/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/descriptor.h"
#include "base/random.h"

namespace fairlead::store {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
// "FLST": tells our files from those of other programs.
constexpr int kApplicationId = 0x464c5354;

// Of key and value, so that a record that the disk has changed is noticed.
int64_t ChecksumOf(std::string_view key, std::string_view value) {
  uint64_t hash = CombineHash(key.size(), value.size());
  for (const std::string_view text : {key, value}) {
    for (const char c : text) hash = CombineHash(hash, static_cast<uint8_t>(c));
  }
  return static_cast<int64_t>(hash);
}

std::string CopyPathOf(const std::string& path) { return path + ".copy"; }

std::string ReasonOf(sqlite3* database) { return sqlite3_errmsg(database); }

Status StatusOf(sqlite3* database, int code, const std::string& path) {
  const std::string message = fmt::format("store {}: {}", path, ReasonOf(database));
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {StatusCode::kResourceExhausted, message + "; make room, nothing was lost"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {StatusCode::kFailedPrecondition,
              fmt::format("store {} is open in another process; stop it, or name another file", path)};
    default:
      return Unavailable(message);
  }
}

// Statements without parameters and without rows that count.
int Execute(sqlite3* database, const std::string& sql) {
  return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
}

std::string_view TextAt(sqlite3_stmt* statement, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
  return {bytes == nullptr ? "" : bytes, static_cast<size_t>(sqlite3_column_bytes(statement, column))};
}

void Bind(sqlite3_stmt* statement, int index, std::string_view bytes) {
  // The pointer of an empty view may be null, which would bind NULL.
  sqlite3_bind_blob64(statement, index, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_STATIC);
}

// Runs a statement that gives no rows, and makes it ready for the next time.
int Step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

// The number that a pragma or a count gives; -1: it can't be read.
int64_t ReadNumber(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  int64_t number = -1;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    number = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  return number;
}

Status Damaged(const std::string& path, const std::string& what) {
  return {StatusCode::kDataLoss, fmt::format("store {} is damaged: {}", path, what)};
}

}  // namespace

void SqliteStore::CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteStore::FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

// What is kept says who runs what: a new file is its owner's alone, and one that was made with wider rights becomes so.
// SQLite gives those of the file to the ones beside it.
Status SqliteStore::KeepFromOthers(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  struct stat about = {};
  if (!file.is_open() || fstat(file.get(), &about) != 0) return OkStatus();  // opening it says why
  if ((about.st_mode & 077) == 0 || !S_ISREG(about.st_mode) || fchmod(file.get(), 0600) == 0) return OkStatus();
  return {StatusCode::kFailedPrecondition,
          fmt::format("store {}: others may read it, and that can't be changed: {}", path, std::strerror(errno))};
}

Result<SqliteStore::Database> SqliteStore::OpenDatabase(const std::string& path, bool for_writing) {
  if (for_writing) FL_RETURN_IF_ERROR(KeepFromOthers(path));
  sqlite3* raw = nullptr;
  const int flags = (for_writing ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return StatusOf(raw, code, path);
  return database;
}

Status SqliteStore::CheckContents(sqlite3* database, const std::string& path) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(database, "PRAGMA quick_check(1)", -1, &raw, nullptr);
  const Statement check(raw);
  if (code == SQLITE_OK) code = sqlite3_step(raw);
  if (code != SQLITE_ROW) return Damaged(path, ReasonOf(database));
  if (TextAt(raw, 0) != "ok") return Damaged(path, std::string(TextAt(raw, 0)));

  raw = nullptr;
  code = sqlite3_prepare_v2(database, "SELECT key, value, checksum FROM record", -1, &raw, nullptr);
  const Statement all(raw);
  if (code != SQLITE_OK) return Damaged(path, ReasonOf(database));
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    if (sqlite3_column_int64(raw, 2) != ChecksumOf(TextAt(raw, 0), TextAt(raw, 1))) {
      return Damaged(path, fmt::format("record '{}' is not what was written", TextAt(raw, 0)));
    }
  }
  return code == SQLITE_DONE ? OkStatus() : Damaged(path, ReasonOf(database));
}

SqliteStore::SqliteStore(SqliteOptions options, Database database)
    : options_(std::move(options)), database_(std::move(database)) {}

SqliteStore::~SqliteStore() = default;

// A new file gets its table; an old one must be ours, of our format, and whole.
Status SqliteStore::Prepare() {
  sqlite3* database = database_.get();
  const std::string& path = options_.path;
  // The lock is taken by the first read or write and kept.
  int code = Execute(database, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) return Damaged(path, ReasonOf(database));
  if (code != SQLITE_OK) return StatusOf(database, code, path);
  const bool is_new = ReadNumber(database, "SELECT count(*) FROM sqlite_master") == 0;
  if (is_new) {
    code = Execute(database, fmt::format("BEGIN;"
                                         "CREATE TABLE record(key BLOB PRIMARY KEY, value BLOB NOT NULL,"
                                         " checksum INTEGER NOT NULL) WITHOUT ROWID;"
                                         "PRAGMA application_id={}; PRAGMA user_version={}; COMMIT",
                                         kApplicationId, kFormat));
    if (code != SQLITE_OK) return StatusOf(database, code, path);
  } else if (ReadNumber(database, "PRAGMA application_id") != kApplicationId) {
    return {StatusCode::kFailedPrecondition,
            fmt::format("store {}: expected a store of Fairlead, found a database of another program", path)};
  } else if (const int64_t format = ReadNumber(database, "PRAGMA user_version"); format != kFormat) {
    return {StatusCode::kFailedPrecondition,
            fmt::format("store {}: expected format {}, found {}: it was written by another version", path, kFormat,
                        format)};
  }
  FL_RETURN_IF_ERROR(CheckContents(database, path));
  code = Execute(database, fmt::format("PRAGMA journal_mode=WAL; PRAGMA synchronous={}; PRAGMA max_page_count={}",
                                       options_.sync ? "FULL" : "NORMAL",
                                       options_.num_pages_max == 0 ? 4294967294u : options_.num_pages_max));
  if (code != SQLITE_OK) return StatusOf(database, code, path);

  const auto prepare = [&](const char* sql, Statement* statement) {
    sqlite3_stmt* raw = nullptr;
    const int result = sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    statement->reset(raw);
    return result == SQLITE_OK ? OkStatus() : StatusOf(database, result, path);
  };
  FL_RETURN_IF_ERROR(
      prepare("INSERT INTO record VALUES(?1, ?2, ?3) ON CONFLICT(key) DO UPDATE "
              "SET value=excluded.value, checksum=excluded.checksum",
              &put_));
  return prepare("DELETE FROM record WHERE key=?1", &remove_);
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const SqliteOptions& options) {
  const fs::path folder = fs::path(options.path).parent_path();
  std::error_code error;
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return NotFound(fmt::format("store {}: there is no folder {}", options.path, folder.string()));
  }
  FL_ASSIGN_OR_RETURN(Database database, OpenDatabase(options.path, true));
  std::unique_ptr<SqliteStore> store(new SqliteStore(options, std::move(database)));
  if (Status status = store->Prepare(); !status.ok()) {
    if (status.code() != StatusCode::kDataLoss) return status;
    const std::string copy = CopyPathOf(options.path);
    return Status(
        status.code(),
        status.message() + (fs::exists(copy, error)
                                ? fmt::format("; {} is the last good copy: go on from it with --restore", copy)
                                : fmt::format("; there is no copy of it. Move it away to start over")));
  }
  if (options.copy_every != 0) store->copy_status_ = store->Copy();
  return store;
}

Status SqliteStore::ApplyInTransaction(std::span<const Change> changes) {
  sqlite3* database = database_.get();
  int code = Execute(database, "BEGIN IMMEDIATE");
  for (const Change& change : changes) {
    if (code != SQLITE_OK) break;
    sqlite3_stmt* statement = change.value.has_value() ? put_.get() : remove_.get();
    Bind(statement, 1, change.key);
    if (change.value.has_value()) {
      Bind(statement, 2, *change.value);
      sqlite3_bind_int64(statement, 3, ChecksumOf(change.key, *change.value));
    }
    code = Step(statement);
  }
  if (code == SQLITE_OK) code = Execute(database, "COMMIT");
  return code == SQLITE_OK ? OkStatus() : StatusOf(database, code, options_.path);
}

void SqliteStore::Rollback() {
  // Some errors have ended the transaction already.
  if (sqlite3_get_autocommit(database_.get()) == 0) Execute(database_.get(), "ROLLBACK");
}

Status SqliteStore::Apply(std::span<const Change> changes) {
  if (changes.empty()) return OkStatus();
  if (Status status = ApplyInTransaction(changes); !status.ok()) {
    Rollback();
    return status;
  }
  CopyIfDue();
  return OkStatus();
}

void SqliteStore::CopyIfDue() {
  if (options_.copy_every == 0 || ++num_since_copy_ < options_.copy_every) return;
  num_since_copy_ = 0;
  copy_status_ = Copy();
}

// Written beside, read back, then put in place: there is always a good one.
Status SqliteStore::Copy() const {
  const std::string path = CopyPathOf(options_.path);
  const std::string fresh = path + ".new";
  std::error_code error;
  fs::remove(fresh, error);
  FL_RETURN_IF_ERROR(KeepFromOthers(fresh));  // it is written into an empty file
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(database_.get(), "VACUUM INTO ?1", -1, &raw, nullptr);
  const Statement statement(raw);
  if (code == SQLITE_OK) {
    sqlite3_bind_text(raw, 1, fresh.c_str(), -1, SQLITE_STATIC);
    code = Step(raw);
  }
  Status status = code == SQLITE_OK ? OkStatus() : StatusOf(database_.get(), code, fresh);
  if (status.ok()) {
    auto copy = OpenDatabase(fresh, false);
    status = copy.ok() ? CheckContents(copy->get(), fresh) : copy.status();
  }
  if (status.ok()) {
    fs::rename(fresh, path, error);
    if (error) status = Unavailable(fmt::format("store copy {}: {}", path, error.message()));
  }
  if (!status.ok()) fs::remove(fresh, error);
  return status;
}

Result<std::vector<Record>> SqliteStore::List(std::string_view prefix) const {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(database_.get(), "SELECT key, value FROM record WHERE key >= ?1 ORDER BY key", -1, &raw,
                                nullptr);
  const Statement statement(raw);
  if (code != SQLITE_OK) return StatusOf(database_.get(), code, options_.path);
  Bind(raw, 1, prefix);
  std::vector<Record> records;
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    const std::string_view key = TextAt(raw, 0);
    if (!key.starts_with(prefix)) return records;
    records.push_back({std::string(key), std::string(TextAt(raw, 1))});
  }
  if (code != SQLITE_DONE) return StatusOf(database_.get(), code, options_.path);
  return records;
}

Status SqliteStore::RestoreCopy(const std::string& path) {
  const std::string copy = CopyPathOf(path);
  std::error_code error;
  if (!fs::exists(copy, error)) return NotFound(fmt::format("store {}: there is no copy {}", path, copy));
  {
    FL_ASSIGN_OR_RETURN(const Database database, OpenDatabase(copy, false));
    if (const Status status = CheckContents(database.get(), copy); !status.ok()) return NotFound(status.message());
  }
  if (fs::exists(path, error)) {
    const auto store = Open({.path = path, .copy_every = 0});
    if (store.ok()) {
      return {StatusCode::kFailedPrecondition, fmt::format("store {} is good: nothing to restore", path)};
    }
    if (store.status().code() != StatusCode::kDataLoss) return store.status();
  }
  std::string aside = path + ".damaged";
  for (int i = 2; fs::exists(aside, error); ++i) aside = fmt::format("{}.damaged{}", path, i);
  if (fs::exists(path, error)) fs::rename(path, aside, error);
  // The log of the damaged store must not be applied to its successor.
  for (const char* suffix : {"-wal", "-shm"}) {
    std::error_code ignored;
    if (fs::exists(path + suffix, ignored)) fs::rename(path + suffix, aside + suffix, ignored);
  }
  if (!error) fs::copy_file(copy, path, error);
  return error ? Unavailable(fmt::format("store {}: can't put {} in its place: {}", path, copy, error.message()))
               : OkStatus();
}

}  // namespace fairlead::store
