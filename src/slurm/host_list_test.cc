#include "slurm/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace fairlead::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HostListTest, ShortForms) {
  EXPECT_THAT(*ExpandHosts("h0"), ElementsAre("h0"));
  EXPECT_THAT(*ExpandHosts("h[0-2,7],x1,g-[3]"), ElementsAre("h0", "h1", "h2", "h7", "x1", "g-3"));
  EXPECT_THAT(*ExpandHosts("h[08-10]"), ElementsAre("h08", "h09", "h10"));
  EXPECT_THAT(*ExpandHosts("r[1-2]n[0-1]s"), ElementsAre("r1n0s", "r1n1s", "r2n0s", "r2n1s"));
  for (const char* none : {"", "(null)", "None assigned", ","}) EXPECT_THAT(*ExpandHosts(none), IsEmpty()) << none;
}

TEST(HostListTest, WhatIsNoListIsRefused) {
  for (const char* list : {"h[0-2", "h[2-1]", "h[a]", "h[1-]", "h[-1]", "h[0-99999999999]", "h[0x1]"}) {
    EXPECT_EQ(ExpandHosts(list).status().code(), StatusCode::kInvalidArgument) << list;
  }
  EXPECT_THAT(ExpandHosts("h[2-1]\n").status().message(), HasSubstr("no range of numbers in the list 'h[2-1]?'"));
}

TEST(HostListTest, NoListIsTooLongForUs) {
  EXPECT_EQ(ExpandHosts("h[1-100000]")->size(), kNumHostsMax);
  for (const char* list : {"h[0-100000]", "h[0-4294967295]", "h[4294967295-4294967295],g[1-100000]", "a[0-999]b[0-999]",
                           "h[1-99999],g[1-2]"}) {
    EXPECT_FALSE(ExpandHosts(list).ok()) << list;
  }
  EXPECT_THAT(*ExpandHosts("h[4294967295]"), ElementsAre("h4294967295"));
}

TEST(HostListTest, Compressed) {
  const auto compressed = [](const std::vector<std::string>& hosts) { return CompressHosts(hosts); };
  EXPECT_EQ(compressed({}), "");
  EXPECT_EQ(compressed({"h0"}), "h0");
  EXPECT_EQ(compressed({"h0", "h1", "h2", "h7", "x1", "x2"}), "h[0-2,7],x[1-2]");
  EXPECT_EQ(compressed({"h08", "h09", "h10", "h011"}), "h[08-10,011]");
  EXPECT_EQ(compressed({"h9", "h10", "h1", "a", "a", "7", "8"}), "h[9-10,1],a,a,[7-8]");
  EXPECT_EQ(compressed({"r1n0s", "r1n1s"}), "r1n0s,r1n1s");
}

// Nothing is lost: not the order, nor zeros in front, nor names that come twice.
TEST(HostListTest, ExpandingUndoesCompressing) {
  EXPECT_TRUE(rc::check([] {
    const auto hosts = *rc::gen::container<std::vector<std::string>>(rc::gen::apply(
        [](const std::string& prefix, uint32_t number, int zeros) {
          return prefix + std::string(zeros, '0') + (number == 12 ? "" : std::to_string(number));
        },
        rc::gen::element<std::string>("h", "g-", "r1n", "x.y", "h99999999"), rc::gen::inRange(0u, 13u),
        rc::gen::inRange(0, 3)));
    const std::string list = CompressHosts(hosts);
    const auto expanded = ExpandHosts(list);
    RC_ASSERT(expanded.ok());
    RC_ASSERT(*expanded == hosts);
  }));
}

TEST(HostListTest, Devices) {
  EXPECT_EQ(CountGpus("gpu:4"), 4u);
  EXPECT_EQ(CountGpus("gpu:a100:4(S:0-1),nic:2,gpu:h100:2"), 6u);
  EXPECT_EQ(CountGpus("gres/gpu:2"), 2u);
  for (const char* none : {"", "(null)", "gpu", "gpu:", "gpu:a", "gpus:4", "N/A"})
    EXPECT_EQ(CountGpus(none), 0u) << none;
  EXPECT_THAT(GpuIndices("gpu:2(IDX:0-1)"), ElementsAre(0, 1));
  EXPECT_THAT(GpuIndices("nic:1(IDX:5),gpu:a100:3(IDX:4,0-1),gpu:x:1(IDX:7)"), ElementsAre(0, 1, 4, 7));
  for (const char* none : {"", "gpu:2", "gpu:2(IDX:N/A)", "gpu:2(IDX:", "gpu:1(IDX:0-99999)"}) {
    EXPECT_THAT(GpuIndices(none), IsEmpty()) << none;
  }
}

// Any text is a list or an error.
TEST(HostListTest, AnyTextIsSafe) {
  EXPECT_TRUE(rc::check([] {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::element('h', '0', '9', '[', ']', '-', ',', '(', ')', ':'));
    const auto hosts = ExpandHosts(text);
    if (hosts.ok()) RC_ASSERT(hosts->size() <= kNumHostsMax);
    CountGpus(text);
    GpuIndices("gpu:1(IDX:" + text);
  }));
}

}  // namespace
}  // namespace fairlead::slurm
