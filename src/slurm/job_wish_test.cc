#include "slurm/job_wish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace fairlead::slurm {
namespace {

using testing::HasSubstr;

TEST(JobWishTest, WhatAJobWishes) {
  EXPECT_EQ(*ReadJobWish(R"({"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}})"), (JobWish{true, 3}));
  EXPECT_EQ(*ReadJobWish(R"( {"APS": {"auto_resume_mode": "none"}, "fairlead": {"steps": 9}})"), (JobWish{false, {}}));
  EXPECT_EQ(*ReadJobWish(R"({"APS": {}})"), JobWish());
  for (const char* nothing : {"", "fairlead", "run 7 of {9}", "  ", R"({"fairlead": {}})", "[1]"}) {
    EXPECT_EQ(*ReadJobWish(nothing), JobWish()) << nothing;
  }
}

TEST(JobWishTest, AStrangeCommentIsNoWish) {
  const auto why = [](const std::string& comment) {
    const auto wish = ReadJobWish(comment);
    EXPECT_EQ(wish.status().code(), StatusCode::kInvalidArgument) << comment;
    return wish.status().message();
  };
  EXPECT_THAT(why("{"), HasSubstr("begins as JSON"));
  EXPECT_THAT(why("{\"APS\": {\"auto_resume_mode\": \"requeue\"}} x"), HasSubstr("begins as JSON"));
  EXPECT_THAT(why(R"({"APS": 7})"), HasSubstr("an object as APS, found 7"));
  EXPECT_THAT(why(R"({"APS": {"auto_resume_mode": "yes"}})"), HasSubstr("found 'yes'"));
  EXPECT_THAT(why(R"({"APS": {"auto_resume_mode": null}})"), HasSubstr("found null"));
  for (const char* times : {"-1", "1.5", "\"3\"", "4294967296", "1e3", "true"}) {
    EXPECT_THAT(why(std::string(R"({"APS": {"max_requeue_times": )") + times + "}}"), HasSubstr("max_requeue_times"))
        << times;
  }
  why("{" + std::string(70'000, ' '));
  why(std::string(20'000, '{'));
  std::string nested = "{\"APS\": ";
  for (int i = 0; i < 20'000; ++i) nested += '[';
  why(nested);
}

TEST(JobWishTest, HowOftenItMayBeRequeued) {
  EXPECT_EQ(WhyNotRequeue({}, 100), "");
  EXPECT_EQ(WhyNotRequeue({true, 2}, 1), "");
  EXPECT_THAT(WhyNotRequeue({true, 2}, 2), HasSubstr("2 requeues at most"));
  EXPECT_THAT(WhyNotRequeue({true, 0}, 0), HasSubstr("0 requeues"));
  EXPECT_NE(WhyNotRequeue({false, {}}, 0), "");
}

// Whatever a user writes: an answer, and a message that is safe to print.
TEST(JobWishTest, Garbage) {
  EXPECT_TRUE(rc::check([] {
    std::string comment = R"({"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3}})";
    const auto changes = *rc::gen::container<std::vector<std::pair<uint8_t, char>>>(
        rc::gen::pair(rc::gen::inRange<uint8_t>(0, 65), rc::gen::arbitrary<char>()));
    for (const auto& [at, c] : changes) comment[at % comment.size()] = c;
    const auto wish = ReadJobWish(comment);
    if (wish.ok()) return;
    RC_ASSERT(wish.status().code() == StatusCode::kInvalidArgument);
    for (const char c : wish.status().message()) RC_ASSERT(c >= ' ' && c <= '~');
  }));
}

TEST(ElasticWishTest, StepsAndAFileOfThem) {
  EXPECT_EQ(*ReadElasticWish("fairlead"), ElasticWish{});
  EXPECT_EQ(*ReadElasticWish(""), ElasticWish{});
  EXPECT_EQ(*ReadElasticWish(R"({"APS": {}})"), ElasticWish{});
  EXPECT_EQ(*ReadElasticWish(R"({"fairlead": {}})"), ElasticWish{});
  EXPECT_EQ(*ReadElasticWish(R"({"fairlead": {"steps": 9000}})"), (ElasticWish{.steps = 9000}));
  EXPECT_EQ(*ReadElasticWish(R"({"fairlead": {"progress": "/home/ann/steps", "steps": 1}})"),
            (ElasticWish{.steps = 1, .progress_file = "/home/ann/steps", .checkpoint_file = ""}));
  EXPECT_EQ(ReadElasticWish(R"({"fairlead": {"checkpoint": "/home/ann/latest"}})")->checkpoint_file,
            "/home/ann/latest");
}

TEST(ElasticWishTest, StrangeOnesAreNamed) {
  const auto why = [](std::string_view comment) {
    const auto wish = ReadElasticWish(comment);
    EXPECT_EQ(wish.status().code(), StatusCode::kInvalidArgument) << comment;
    return wish.status().message();
  };
  EXPECT_THAT(why(R"({"fairlead": 7})"), HasSubstr("an object as fairlead, found 7"));
  EXPECT_THAT(why(R"({"fairlead": {"steps": 0}})"), HasSubstr("a number above 0 as steps"));
  EXPECT_THAT(why(R"({"fairlead": {"steps": "many"}})"), HasSubstr("a number above 0 as steps"));
  EXPECT_THAT(why(R"({"fairlead": {"steps": 1.5}})"), HasSubstr("a number above 0 as steps"));
  EXPECT_THAT(why(R"({"fairlead": {"progress": "steps"}})"), HasSubstr("an absolute path as progress"));
  EXPECT_THAT(why(R"({"fairlead": {"checkpoint": 3}})"), HasSubstr("an absolute path as checkpoint"));
  EXPECT_THAT(why(R"({"fairlead": {"stpes": 3}})"), HasSubstr("fairlead has steps, progress and checkpoint; found"));
  EXPECT_THAT(why("{\"fairlead\""), HasSubstr("begins as JSON"));
}

TEST(ElasticMarkTest, OnlyOursIsOne) {
  EXPECT_EQ(ReadElasticMark("fairlead:v1 nodes=2-8 tasks-per-node=4"), (ElasticMark{2, 8, false}));
  EXPECT_EQ(ReadElasticMark("fairlead:v1 nodes=2-8 tasks-per-node=4 held"), (ElasticMark{2, 8, true}));
  for (const char* other :
       {"", " held", "fairlead:v1 stopped", "fairlead:v1 nodes=", "fairlead:v1 nodes=2", "fairlead:v1 nodes=2-",
        "fairlead:v1 nodes=2-8", "fairlead:v1 nodes=8-2 x", "fairlead:v1 nodes=2-2 x", "fairlead:v1 nodes=0-2 x",
        "fairlead:v1 nodes=-1-2 x", "fairlead:v1 nodes=2-99999999999 x", "x fairlead:v1 nodes=2-8 x", "(null)"}) {
    EXPECT_EQ(ReadElasticMark(other), std::nullopt) << other;
  }
  const std::string mark = "fairlead:v1 nodes=2-8 tasks-per-node=4";
  EXPECT_EQ(MarkHeld(mark), mark + " held");
  EXPECT_EQ(MarkHeld(MarkHeld(mark)), mark + " held");
  EXPECT_EQ(MarkReleased(MarkHeld(mark)), mark);
  EXPECT_EQ(MarkReleased(mark), mark);
}

}  // namespace
}  // namespace fairlead::slurm
