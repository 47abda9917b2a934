// A store in one file, by SQLite: the default.
//
// Layout      table record(key, value, checksum), one transaction for each batch, write-ahead log. Survives kill -9,
//             and with `sync` also the loss of power.
// Copies      every `copy_every` batches, and at Open(), the whole is copied to PATH.copy: a file that was read back
//             and found good. It remains when the disk damages the store itself.
// Damage      is looked for at Open(), in SQLite's structures and in each record's checksum. A damaged file is not
//             opened and not touched; the error says whether there is a good copy and how to go on from it.
// Sharing     one process at a time: a second one is refused while the first lives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "store/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fairlead::store {

struct SqliteOptions {
  std::string path;
  // Waits for the disk at each batch: survives power loss, costs milliseconds on slow disks.
  bool sync = true;
  // Batches between two copies; 0: no copies. More often: less is lost to a damaged disk, more is written.
  uint32_t copy_every = 1000;
  // Size of the file, in pages of 4 KiB; 0: until the disk is full.
  uint32_t num_pages_max = 0;
};

class SqliteStore : public Store {
 public:
  // Makes the file where it is missing; not its folder.
  // Errors: kNotFound            no such folder
  //         kFailedPrecondition  another process has it open; it is of another program, or of another version of this one
  //         kDataLoss            it is damaged: says what to do
  //         kResourceExhausted   the disk is full
  //         kUnavailable         it can't be read or written: says why
  static Result<std::unique_ptr<SqliteStore>> Open(const SqliteOptions& options);

  // Puts PATH.copy in the place of a store that can't be opened, which is kept as PATH.damaged (with a number where that
  // exists). Errors: kNotFound  no good copy; kFailedPrecondition  the store is good, or open elsewhere.
  static Status RestoreCopy(const std::string& path);

  ~SqliteStore() override;
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  Status Apply(std::span<const Change> changes) override;
  Result<std::vector<Record>> List(std::string_view prefix) const override;

  // Why the latest copy could not be made; ok: it could. Batches are still accepted.
  const Status& copy_status() const { return copy_status_; }

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Database = std::unique_ptr<sqlite3, CloseDatabase>;
  using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

  SqliteStore(SqliteOptions options, Database database);
  static Status KeepFromOthers(const std::string& path);
  static Result<Database> OpenDatabase(const std::string& path, bool for_writing);
  static Status CheckContents(sqlite3* database, const std::string& path);
  Status Prepare();
  Status ApplyInTransaction(std::span<const Change> changes);
  void Rollback();
  void CopyIfDue();
  Status Copy() const;

  SqliteOptions options_;
  Database database_;
  Statement put_;
  Statement remove_;
  uint32_t num_since_copy_ = 0;
  Status copy_status_;
};

}  // namespace fairlead::store
