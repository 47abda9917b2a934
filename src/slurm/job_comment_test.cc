// What a user wrote stays, whatever it is; ours is beside it, once.
#include "slurm/job_comment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "codec/json_archive.h"
#include "slurm/job_wish.h"

namespace fairlead::slurm {
namespace {

using testing::HasSubstr;

TEST(JobCommentTest, OursStandsBesideTheUsers) {
  EXPECT_EQ(CommentWithAccount("", "4 nodes"), "[fairlead: 4 nodes]");
  EXPECT_EQ(CommentWithAccount("my best run", "4 nodes"), "my best run [fairlead: 4 nodes]");
  EXPECT_EQ(CommentWithAccount("fairlead", "4 nodes"), "fairlead [fairlead: 4 nodes]");
  EXPECT_EQ(CommentWithAccount("my best run [fairlead: 4 nodes]", "2 nodes"), "my best run [fairlead: 2 nodes]");
  EXPECT_EQ(CommentWithAccount("run [fairlead: 4 nodes] and what came later", "2 nodes"),
            "run [fairlead: 2 nodes] and what came later");
  EXPECT_EQ(CommentWithAccount("no end [fairlead: x", "2"), "no end [fairlead: x [fairlead: 2]");
  EXPECT_EQ(AccountOf("run [fairlead: 4 nodes] later"), "4 nodes");
  EXPECT_EQ(AccountOf("run"), "");
}

// Programs that read the comment as JSON still can: NVIDIA's auto-resume, and we.
TEST(JobCommentTest, JsonStaysJson) {
  EXPECT_EQ(CommentWithAccount("{}", "4 nodes"), R"({"fairlead_account": "4 nodes"})");
  const std::string wish = R"( {"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}} )";
  const std::string once = *CommentWithAccount(wish, R"(a "quoted" \ [one])");
  EXPECT_EQ(once, R"( {"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}, )"
                  R"x("fairlead_account": "a ?quoted? ? (one)"} )x");
  EXPECT_EQ(ReadJobWish(once)->max_requeues, 3u);
  EXPECT_EQ(CommentWithAccount(once, "b"),
            R"( {"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}, "fairlead_account": "b"} )");
  const std::string elastic = R"({"fairlead": {"steps": 9000}})";
  EXPECT_EQ(ReadElasticWish(*CommentWithAccount(elastic, "4 nodes"))->steps, 9000u);
  // A list, or what only begins as JSON, is text as any other; a wish that nobody understands stays one.
  EXPECT_EQ(CommentWithAccount("[1]", "b"), "[1] [fairlead: b]");
  EXPECT_EQ(CommentWithAccount("{\"APS\"", "b"), "{\"APS\" [fairlead: b]");
  EXPECT_FALSE(ReadJobWish(*CommentWithAccount("{\"APS\"", "b")).ok());
}

TEST(JobCommentTest, NoLongerThanSlurmTakes) {
  const std::string long_text(2000, 'x');
  EXPECT_EQ(AccountText(long_text).size(), kAccountTextBytesMax);
  EXPECT_EQ(CommentWithAccount(std::string(100, 'u'), long_text)->size(), 100 + 13 + kAccountTextBytesMax);
  const std::string most = *CommentWithAccount(std::string(900, 'u'), long_text);
  EXPECT_EQ(most.size(), kJobCommentBytesMax);
  EXPECT_THAT(most, HasSubstr("xxx...]"));
  // 1024 bytes less those of the user, a blank, "[fairlead: " and "]": 40 are left, and 39.
  EXPECT_TRUE(CommentWithAccount(std::string(971, 'u'), long_text).has_value());
  EXPECT_FALSE(CommentWithAccount(std::string(972, 'u'), long_text).has_value());
  for (const size_t size : {1024u, 5000u, 1u << 20}) {
    EXPECT_FALSE(CommentWithAccount(std::string(size, 'u'), "4 nodes").has_value()) << size;
  }
}

TEST(JobCommentTest, OurTextIsNothingElse) {
  EXPECT_EQ(AccountText("a\nb\t; rm -rf $(x) `y` | 'z' \xc3\xa4 {q} <>&"), "a?b?, rm -rf ?(x) ?y? ? ?z? ?? ?q? ???");
}

// Whatever the user wrote, and however often we write: the user's bytes are what is left when ours are taken out.
TEST(JobCommentTest, NothingOfTheUsersIsLost) {
  EXPECT_TRUE(rc::check([] {
    std::string users;
    for (const char* part : *rc::gen::container<std::vector<const char*>>(
             rc::gen::element<const char*>("{", "}", "\"a\"", ": ", "1", ",", "[", "]", "\n", "'", ";", "\\", "$(x)",
                                           " ", "\xff", "\xc3\xa4", "{}", "{\"a\": 1}"))) {
      users += part;
    }
    const auto first = CommentWithAccount(users, "one");
    RC_ASSERT(first.has_value());
    RC_ASSERT(AccountOf(*first) == "one");
    RC_ASSERT(CommentWithAccount(*first, "one") == first);
    const auto second = CommentWithAccount(*first, "two");
    RC_ASSERT(second.has_value() && AccountOf(*second) == "two");
    std::string left = *second;
    for (const std::string ours :
         {", \"fairlead_account\": \"two\"", "\"fairlead_account\": \"two\"", " [fairlead: two]", "[fairlead: two]"}) {
      if (const size_t at = left.rfind(ours); at != std::string::npos) {
        left.erase(at, ours.size());
        break;
      }
    }
    RC_ASSERT(left == users);
  }));
}

}  // namespace
}  // namespace fairlead::slurm
