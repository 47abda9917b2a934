// What can happen to a file: death of the process, a full disk, damage, strangers.
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/random.h"
#include "base/temporary_folder.h"

namespace fairlead::store {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class SqliteStoreTest : public testing::Test {
 protected:
  std::string path() const { return folder_.File("state.db"); }

  std::unique_ptr<SqliteStore> Open(SqliteOptions options = {.path = "", .sync = false}) {
    options.path = path();
    auto store = SqliteStore::Open(options);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? std::move(*store) : nullptr;
  }
  Status OpenStatus() { return SqliteStore::Open({.path = path(), .sync = false}).status(); }

  void FlipByte(const std::string& file, size_t offset) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(stream.get() ^ 0x55);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(byte);
  }

  const TemporaryFolder folder_;
};

std::vector<Record> All(const Store& store) {
  auto records = store.List("");
  EXPECT_TRUE(records.ok());
  return records.ok() ? *records : std::vector<Record>();
}

TEST_F(SqliteStoreTest, ItsFilesAreTheOwners) {
  const mode_t mask = umask(0);
  const auto expect_closed = [&] {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      EXPECT_EQ(entry.status().permissions() & fs::perms(0077), fs::perms::none) << entry.path();
    }
  };
  {
    const auto store = Open({.path = "", .sync = false, .copy_every = 1});
    ASSERT_TRUE(store->Apply(std::vector<Change>{{"a", "b"}}).ok());
    expect_closed();
  }
  for (const auto& entry : fs::directory_iterator(folder_.path())) fs::permissions(entry.path(), fs::perms(0644));
  const auto store = Open({.path = "", .sync = false, .copy_every = 1});
  ASSERT_TRUE(store->Apply(std::vector<Change>{{"a", "c"}}).ok());
  expect_closed();
  umask(mask);
}

TEST_F(SqliteStoreTest, WhatWasAppliedIsThereWhenOpenedAgain) {
  ASSERT_TRUE(Open()->Apply(std::vector<Change>{{"a", "1"}, {"b", "2"}}).ok());
  ASSERT_TRUE(Open()->Apply(std::vector<Change>{{"a", std::nullopt}}).ok());
  EXPECT_THAT(All(*Open()), ElementsAre(Record{"b", "2"}));
}

// A child applies batch after batch, each of which sets two records to its number, and tells each that was applied. It
// is killed at a random moment: the store holds the last one reported, or the one after it, and never half a batch.
TEST_F(SqliteStoreTest, DeathAtAnyMomentLosesNothingThatWasApplied) {
  Random random(3);
  uint32_t last = 0;
  for (int round = 0; round < 15; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ready[0]);
      auto store = SqliteStore::Open({.path = path(), .sync = false, .copy_every = 7});
      if (!store.ok()) _exit(1);
      for (uint32_t i = last + 1;; ++i) {
        if (!(*store)->Apply(std::vector<Change>{{"a", std::to_string(i)}, {"b", std::to_string(i)}}).ok()) _exit(2);
        if (write(ready[1], &i, sizeof(i)) != sizeof(i)) _exit(3);
      }
    }
    close(ready[1]);
    // At least one batch, then up to 40 more.
    uint32_t number = last;
    const uint64_t num_batches = 1 + random.Below(40);
    for (uint64_t i = 0; i < num_batches; ++i) ASSERT_EQ(read(ready[0], &number, sizeof(number)), 4);
    kill(child, SIGKILL);
    while (read(ready[0], &number, sizeof(number)) == 4) {
    }
    close(ready[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);

    const std::vector<Record> records = All(*Open());
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].value, records[1].value) << "half a batch";
    last = static_cast<uint32_t>(std::stoul(records[0].value));
    EXPECT_GE(last, number);
    EXPECT_LE(last, number + 1);
  }
}

TEST_F(SqliteStoreTest, AFullStoreRefusesABatchWholeAndGoesOnWhenThereIsRoom) {
  auto store = Open({.path = "", .sync = false, .copy_every = 0, .num_pages_max = 40});
  ASSERT_TRUE(store->Apply(std::vector<Change>{{"small", "1"}}).ok());
  const Status full = store->Apply(std::vector<Change>{{"small", "2"}, {"large", std::string(1 << 20, 'x')}});
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("nothing was lost"));
  EXPECT_THAT(All(*store), ElementsAre(Record{"small", "1"}));
  EXPECT_TRUE(store->Apply(std::vector<Change>{{"small", "3"}}).ok());
  EXPECT_THAT(All(*store), ElementsAre(Record{"small", "3"}));
}

// The disk itself refuses: in a child with files limited to 256 KiB.
TEST_F(SqliteStoreTest, ADiskThatRefusesLosesNothing) {
  ASSERT_TRUE(Open()->Apply(std::vector<Change>{{"kept", "1"}}).ok());
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {256 << 10, 256 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto store = SqliteStore::Open({.path = path(), .sync = false, .copy_every = 0});
    if (!store.ok()) _exit(1);
    const Status status = (*store)->Apply(std::vector<Change>{{"kept", "2"}, {"large", std::string(1 << 20, 'x')}});
    if (status.ok()) _exit(2);
    _exit((*store)->Apply(std::vector<Change>{{"after", "3"}}).ok() ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(All(*Open()), ElementsAre(Record{"after", "3"}, Record{"kept", "1"}));
}

TEST_F(SqliteStoreTest, ASecondProcessIsRefusedWhileTheFirstLives) {
  auto store = Open();
  const Status second = OpenStatus();
  EXPECT_EQ(second.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.message(), HasSubstr("open in another process"));
  store.reset();
  EXPECT_TRUE(OpenStatus().ok());
}

// ---- Damage ----

TEST_F(SqliteStoreTest, AChangedRecordIsNoticedAndTheCopyGoesOn) {
  ASSERT_TRUE(Open()->Apply(std::vector<Change>{{"a", "aaaaaaaaaaaaaaaaaaaaaaaa"}}).ok());
  Open().reset();  // the copy is made at Open()
  std::ifstream file(path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  FlipByte(path(), bytes.find("aaaaaaaaaaaaaaaaaaaaaaaa") + 5);

  const Status damaged = OpenStatus();
  EXPECT_EQ(damaged.code(), StatusCode::kDataLoss);
  EXPECT_THAT(damaged.message(), HasSubstr("record 'a' is not what was written"));
  EXPECT_THAT(damaged.message(), HasSubstr("--restore"));

  ASSERT_TRUE(SqliteStore::RestoreCopy(path()).ok());
  EXPECT_THAT(All(*Open()), ElementsAre(Record{"a", "aaaaaaaaaaaaaaaaaaaaaaaa"}));
  EXPECT_TRUE(fs::exists(path() + ".damaged"));
}

// Whatever byte changes: the store is refused with a reason, or gives back what was written (a byte that is never
// read).
TEST_F(SqliteStoreTest, NoChangedByteGoesUnnoticed) {
  const std::vector<Change> changes = {{"a", "1"}, {"b", std::string(3000, 'b')}, {"c", std::string(9000, 'c')}};
  ASSERT_TRUE(Open({.path = "", .sync = false, .copy_every = 0})->Apply(changes).ok());
  const std::vector<Record> expected = All(*Open({.path = "", .sync = false, .copy_every = 0}));
  const auto size = fs::file_size(path());
  fs::copy_file(path(), folder_.File("good"));
  Random random(5);
  int num_refused = 0;
  for (int i = 0; i < 300; ++i) {
    fs::copy_file(folder_.File("good"), path(), fs::copy_options::overwrite_existing);
    FlipByte(path(), i < 100 ? static_cast<size_t>(i) : random.Below(size));
    auto store = SqliteStore::Open({.path = path(), .sync = false, .copy_every = 0});
    if (store.ok()) {
      EXPECT_EQ(All(**store), expected);
    } else {
      ++num_refused;
      EXPECT_THAT(store.status().message(), HasSubstr(path()));
    }
  }
  EXPECT_GT(num_refused, 100);
}

TEST_F(SqliteStoreTest, ATruncatedFileIsRefused) {
  ASSERT_TRUE(Open()->Apply(std::vector<Change>{{"a", std::string(20000, 'x')}}).ok());
  Open().reset();
  fs::resize_file(path(), fs::file_size(path()) / 2);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("is damaged"));
  ASSERT_TRUE(SqliteStore::RestoreCopy(path()).ok());
  EXPECT_EQ(All(*Open()).size(), 1u);
}

TEST_F(SqliteStoreTest, StrangersFilesAreRefusedAndLeftAlone) {
  { std::ofstream(path()) << "This is a letter to my aunt, and long enough to be taken for a page of a database."; }
  EXPECT_THAT(OpenStatus().message(), HasSubstr("is damaged: file is not a database"));
  fs::remove(path());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE t(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(database), SQLITE_OK);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("of another program"));
}

TEST_F(SqliteStoreTest, AStoreOfAnotherFormatIsRefused) {
  Open().reset();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version=2", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(database), SQLITE_OK);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("expected format 1, found 2"));
}

TEST_F(SqliteStoreTest, RestoringNeedsACopyAndADamagedStore) {
  EXPECT_EQ(SqliteStore::RestoreCopy(path()).code(), StatusCode::kNotFound);
  Open().reset();
  EXPECT_THAT(SqliteStore::RestoreCopy(path()).message(), HasSubstr("is good: nothing to restore"));
  const auto store = Open();
  EXPECT_THAT(SqliteStore::RestoreCopy(path()).message(), HasSubstr("open in another process"));
}

TEST_F(SqliteStoreTest, AMissingFolderIsReported) {
  const auto store = SqliteStore::Open({.path = folder_.File("none/state.db")});
  EXPECT_EQ(store.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(store.status().message(), HasSubstr("there is no folder"));
}

// Its folder is gone, so that no copy can be written: batches continue, and the reason is available.
TEST_F(SqliteStoreTest, ACopyThatFailsHoldsNothingUp) {
  auto store = Open({.path = "", .sync = false, .copy_every = 1});
  fs::create_directories(path() + ".copy.new/x");
  EXPECT_TRUE(store->Apply(std::vector<Change>{{"a", "1"}}).ok());
  EXPECT_FALSE(store->copy_status().ok());
  fs::remove_all(path() + ".copy.new");
  EXPECT_TRUE(store->Apply(std::vector<Change>{{"a", "2"}}).ok());
  EXPECT_TRUE(store->copy_status().ok());
}

}  // namespace
}  // namespace fairlead::store
