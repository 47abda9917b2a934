// The audit log vouches for itself: whatever is changed, taken out or put in shows.
#include "service/steering/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_reader.h"
#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AuditChainTest : public testing::Test {
 protected:
  void Write(int from, int count) {
    auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status().message();
    for (int i = from; i < from + count; ++i) {
      const report::Json entry = {{"at_s", 1.5 * i}, {"kind", "action"}, {"text", "\xff \u00e9"}, {"number", i}};
      ASSERT_TRUE(log->Write(entry).ok());
    }
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  void Put(const std::vector<std::string>& lines) const {
    std::ofstream file(path_, std::ios::trunc);
    for (const std::string& line : lines) file << line << "\n";
  }
  AuditVerdict Verify() const {
    auto verdict = VerifyAuditLog(path_);
    EXPECT_TRUE(verdict.ok());
    return verdict.ok() ? *verdict : AuditVerdict();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("audit.jsonl");
};

TEST_F(AuditChainTest, OneChainOverRestarts) {
  Write(0, 3);
  Write(3, 2);
  const AuditVerdict verdict = Verify();
  EXPECT_EQ(verdict.num_lines, 5u);
  EXPECT_EQ(verdict.num_chained, 5u);
  EXPECT_EQ(verdict.num_beginnings, 1u);
  EXPECT_THAT(verdict.breaks, IsEmpty());
  EXPECT_THAT(verdict.warnings, IsEmpty());
  EXPECT_THAT(verdict.last_chain, SizeIs(64));
  EXPECT_THAT(Lines().back(), HasSubstr(verdict.last_chain));
}

TEST_F(AuditChainTest, WhateverIsChangedShows) {
  Write(0, 6);
  const std::vector<std::string> good = Lines();
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<std::string> lines = good;
    const size_t number = lines[i].find("\"number\":");
    lines[i].insert(number + 9, "1");
    Put(lines);
    EXPECT_THAT(Verify().breaks, testing::Not(IsEmpty())) << "changed: " << i;
    if (i + 1 < good.size()) {  // that the last ones are missing shows in the last hash only
      lines = good;
      lines.erase(lines.begin() + static_cast<long>(i));
      Put(lines);
      EXPECT_THAT(Verify().breaks, testing::Not(IsEmpty())) << "taken out: " << i;
      lines = good;
      std::swap(lines[i], lines[i + 1]);
      Put(lines);
      EXPECT_THAT(Verify().breaks, testing::Not(IsEmpty())) << "swapped: " << i;
      lines = good;
      lines.insert(lines.begin() + static_cast<long>(i), R"({"kind": "operator", "who": "somebody"})");
      Put(lines);
      EXPECT_THAT(Verify().breaks, testing::Not(IsEmpty())) << "put in: " << i;
    }
  }
  Put(good);
  EXPECT_THAT(Verify().breaks, IsEmpty());
}

// Of an older version, or of a machine that went down while it wrote: the next chain covers it.
TEST_F(AuditChainTest, LinesWithoutAHashAreCoveredByTheNextChain) {
  std::ofstream(path_) << R"({"kind": "action", "number": 1})"
                       << "\n"
                       << R"({"kind": "act)";
  Write(0, 2);
  AuditVerdict verdict = Verify();
  EXPECT_EQ(verdict.num_lines, 4u);
  EXPECT_THAT(verdict.breaks, IsEmpty());
  EXPECT_THAT(verdict.warnings, SizeIs(2));
  std::vector<std::string> lines = Lines();
  lines[0] = R"({"kind": "action", "number": 2})";
  Put(lines);
  EXPECT_THAT(Verify().breaks, SizeIs(1));
}

TEST_F(AuditChainTest, LinesAtTheEndNeedAHash) {
  Write(0, 3);
  std::vector<std::string> lines = Lines();
  lines.emplace_back(R"({"kind": "act)");
  Put(lines);
  EXPECT_THAT(Verify().breaks, IsEmpty()) << "the machine went down while it was written";
  lines.back() = R"({"kind": "action"})";
  Put(lines);
  EXPECT_THAT(Verify().breaks, SizeIs(1));
  for (std::string& line : lines) line = R"({"kind": "action"})";
  Put(lines);
  EXPECT_THAT(Verify().breaks, SizeIs(1)) << "all hashes were taken off";
  Put({});
  EXPECT_THAT(Verify().breaks, IsEmpty());
}

TEST_F(AuditChainTest, ItBelongsToItsOwner) {
  std::ofstream(path_) << "";
  std::filesystem::permissions(path_, std::filesystem::perms(0644));
  Write(0, 1);
  struct stat status = {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AuditChainTest, OneProcessWrites) {
  const auto first = AuditLog::Open(path_);
  ASSERT_TRUE(first.ok());
  const auto second = AuditLog::Open(path_);
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another process writes it"));
}

TEST_F(AuditChainTest, ALinkIsNotFollowed) {
  std::ofstream(folder_.File("other")) << "";
  std::filesystem::create_symlink(folder_.File("other"), path_);
  EXPECT_FALSE(AuditLog::Open(path_).ok());
}

}  // namespace
}  // namespace fairlead::service
