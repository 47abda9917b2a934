// What every store does, against a map.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Store>(const std::string& path)> open;
};

class StoreTest : public testing::TestWithParam<Kind> {
 protected:
  StoreTest() : store_(GetParam().open(folder_.File("store"))) {}

  void Apply(std::vector<Change> changes) {
    const Status status = store_->Apply(changes);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::vector<Record> List(std::string_view prefix) {
    auto records = store_->List(prefix);
    EXPECT_TRUE(records.ok());
    return records.ok() ? *records : std::vector<Record>();
  }

  const TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreTest, ANewStoreIsEmpty) {
  EXPECT_THAT(List(""), IsEmpty());
  Apply({});
  EXPECT_THAT(List(""), IsEmpty());
}

TEST_P(StoreTest, RecordsOfAPrefixComeInOrderOfTheirBytes) {
  Apply({{"job/2", "b"}, {"job/10", "a"}, {"jobs", "x"}, {"job", "y"}, {"host/1", "z"}});
  EXPECT_THAT(List("job/"), ElementsAre(Record{"job/10", "a"}, Record{"job/2", "b"}));
  EXPECT_THAT(List("job/2"), ElementsAre(Record{"job/2", "b"}));
  EXPECT_THAT(List("job/3"), IsEmpty());
  EXPECT_EQ(List("").size(), 5u);
}

TEST_P(StoreTest, ChangesOfABatchComeInOrder) {
  Apply({{"a", "1"}, {"a", "2"}, {"b", "1"}, {"b", std::nullopt}, {"c", std::nullopt}, {"c", "3"}});
  EXPECT_THAT(List(""), ElementsAre(Record{"a", "2"}, Record{"c", "3"}));
}

TEST_P(StoreTest, KeysAndValuesAreAnyBytes) {
  const std::string bytes("\0\xff\x80 'x'\n", 8);
  const std::string large(1 << 20, '\xfe');
  Apply({{bytes, bytes}, {"", ""}, {"\xff\xff", large}});
  EXPECT_THAT(List(""), ElementsAre(Record{"", ""}, Record{bytes, bytes}, Record{"\xff\xff", large}));
  EXPECT_THAT(List("\xff"), ElementsAre(Record{"\xff\xff", large}));
}

// 300 batches of up to five changes on twelve keys.
TEST_P(StoreTest, BehavesLikeAMap) {
  std::map<std::string, std::string> expected;
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Change> changes(random.Below(6));
    for (Change& change : changes) {
      change.key = "k" + std::to_string(random.Below(12));
      if (random.Below(3) != 0) change.value = std::to_string(random.Below(1000));
      if (change.value.has_value()) {
        expected[change.key] = *change.value;
      } else {
        expected.erase(change.key);
      }
    }
    Apply(changes);
  }
  std::vector<Record> records;
  for (const auto& [key, value] : expected) records.push_back({key, value});
  EXPECT_EQ(List(""), records);
}

INSTANTIATE_TEST_SUITE_P(All, StoreTest,
                         testing::Values(Kind{"memory",
                                              [](const std::string&) { return std::make_unique<MemoryStore>(); }},
                                         Kind{"sqlite",
                                              [](const std::string& path) -> std::unique_ptr<Store> {
                                                auto store = SqliteStore::Open({.path = path, .sync = false});
                                                EXPECT_TRUE(store.ok()) << store.status().message();
                                                return store.ok() ? std::move(*store) : nullptr;
                                              }}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace fairlead::store
