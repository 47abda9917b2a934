#include "service/steering/stored_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace fairlead::service {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Notes the keys that are changed.
class NotedStore final : public store::Store {
 public:
  Status Apply(std::span<const store::Change> changes) override {
    if (is_broken) return Unavailable("no disk");
    keys.clear();
    for (const store::Change& change : changes) keys.push_back(change.key + (change.value.has_value() ? "" : " -"));
    return store.Apply(changes);
  }
  Result<std::vector<store::Record>> List(std::string_view prefix) const override {
    if (is_broken) return Unavailable("no disk");
    return store.List(prefix);
  }

  store::MemoryStore store;
  std::vector<std::string> keys;
  bool is_broken = false;
};

class StoredRecordsTest : public testing::Test {
 protected:
  std::map<std::string, std::string> InStore() {
    std::map<std::string, std::string> all;
    const std::vector<store::Record> records = store_.store.List("").value();
    for (const auto& [key, value] : records) all[key] = value;
    return all;
  }

  NotedStore store_;
  StoredRecords stored_{&store_};
};

TEST_F(StoredRecordsTest, WhatDiffersIsWritten) {
  EXPECT_TRUE(stored_.Keep({{"a", "1"}, {"b", "2"}, {"c", "3"}}).ok());
  EXPECT_TRUE(stored_.Keep({{"a", "1"}, {"b", "4"}, {"d", "5"}}).ok());
  EXPECT_THAT(store_.keys, ElementsAre("b", "d", "c -"));
  EXPECT_EQ(InStore(), stored_.records());
  store_.is_broken = true;
  EXPECT_TRUE(stored_.Keep({{"a", "1"}, {"b", "4"}, {"d", "5"}}).ok()) << "nothing to be written";
}

TEST_F(StoredRecordsTest, WhatTheStoreRefusesIsTriedAgain) {
  EXPECT_TRUE(stored_.Keep({{"a", "1"}}).ok());
  store_.is_broken = true;
  EXPECT_EQ(stored_.Keep({{"a", "2"}}).message(), "no disk");
  EXPECT_EQ(stored_.records().at("a"), "1");
  store_.is_broken = false;
  EXPECT_TRUE(stored_.Keep({{"a", "2"}}).ok());
  EXPECT_EQ(InStore().at("a"), "2");
}

TEST_F(StoredRecordsTest, OfAnEarlierProcess) {
  const std::vector<store::Change> changes = {{"steering/a", "1"}, {"steering/b", "2"}, {"job/7", "3"}};
  ASSERT_TRUE(store_.Apply(changes).ok());
  store_.is_broken = true;
  EXPECT_EQ(stored_.Load("steering/").message(), "no disk");
  store_.is_broken = false;
  ASSERT_TRUE(stored_.Load("steering/").ok());
  EXPECT_TRUE(stored_.Keep({{"steering/a", "1"}}).ok());
  EXPECT_THAT(store_.keys, ElementsAre("steering/b -")) << "others' records are left alone";
}

TEST_F(StoredRecordsTest, ARecordIsForgotten) {
  EXPECT_TRUE(stored_.Keep({{"a", "1"}, {"b", "2"}}).ok());
  store_.is_broken = true;
  stored_.Forget("a");
  EXPECT_TRUE(stored_.records().contains("a")) << "it is still there";
  store_.is_broken = false;
  stored_.Forget("a");
  EXPECT_EQ(InStore(), (std::map<std::string, std::string>{{"b", "2"}}));
  EXPECT_EQ(InStore(), stored_.records());
  store_.keys.clear();
  stored_.Forget("a");
  EXPECT_THAT(store_.keys, IsEmpty());
}

}  // namespace
}  // namespace fairlead::service
