#include "traffic/meeting_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

// Links of which some are NVLink, where nobody meets.
OwnLinks DrawTiers(uint32_t num_links, Random* random) {
  OwnLinks links;
  for (uint32_t link = 0; link < num_links; ++link) {
    links.Add(1, random->Below(4) == 0 ? topology::LinkTier::kNvlink : topology::LinkTier::kLeafSpine);
  }
  return links;
}

std::shared_ptr<const JobTraffic> DrawTraffic(uint32_t num_links, Random* random) {
  auto traffic = std::make_shared<JobTraffic>();
  for (uint32_t link = 0; link < num_links; ++link) {
    if (random->Below(8) == 0) traffic->links.push_back({LinkId(link), Bytes(1)});
  }
  return traffic;
}

std::vector<std::vector<uint32_t>> Expected(const std::vector<MeetingMemory::Job>& jobs, const LinkTable& links) {
  std::vector<std::span<const LinkBytes>> uses;
  for (const MeetingMemory::Job& job : jobs) uses.emplace_back(job.traffic->links);
  return FindContention(uses, links);
}

// Jobs come, go, change their links and their order, few at a time or all at once.
TEST(MeetingMemoryTest, FindsWhoeverMeets) {
  size_t num_remembered = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto num_links = static_cast<uint32_t>(1 + random.Below(60));
    const OwnLinks links = DrawTiers(num_links, &random);
    MeetingMemory memory;
    std::map<JobId, std::shared_ptr<const JobTraffic>> present;
    for (int step = 0; step < 20; ++step) {
      const uint64_t num_changes = random.Below(10) == 0 ? 150 : random.Below(4);
      for (uint64_t i = 0; i < num_changes; ++i) {
        const JobId id(random.Below(200));
        present[id] = DrawTraffic(num_links, &random);
        if (random.Below(3) == 0) present.erase(id);
      }
      std::vector<MeetingMemory::Job> jobs;
      for (const auto& [id, traffic] : present) jobs.push_back({id, traffic});
      random.Shuffle(std::span(jobs));
      ASSERT_EQ(memory.Find(jobs, links), Expected(jobs, links)) << "seed " << seed << " step " << step;
      ASSERT_EQ(memory.num_jobs(), jobs.size());
      num_remembered += jobs.size() - memory.num_looked_up();
    }
  }
  EXPECT_GT(num_remembered, 10000u) << "a memory that is never used proves nothing";
}

TEST(MeetingMemoryTest, OnlyNewTrafficIsLookedUp) {
  Random random(1);
  const OwnLinks links = DrawTiers(40, &random);
  MeetingMemory memory;
  std::vector<MeetingMemory::Job> jobs;
  for (uint32_t j = 0; j < 100; ++j) jobs.push_back({JobId(j), DrawTraffic(40, &random)});
  memory.Find(jobs, links);
  EXPECT_EQ(memory.num_looked_up(), 100u);
  memory.Find(jobs, links);
  EXPECT_EQ(memory.num_looked_up(), 0u);
  jobs[3].traffic = DrawTraffic(40, &random);
  jobs.push_back({JobId(100), DrawTraffic(40, &random)});
  memory.Find(jobs, links);
  EXPECT_EQ(memory.num_looked_up(), 2u);
  memory.Clear();
  memory.Find(jobs, links);
  EXPECT_EQ(memory.num_looked_up(), 101u);
}

TEST(MeetingMemoryTest, NobodyMeetsNobody) {
  Random random(1);
  const OwnLinks links = DrawTiers(4, &random);
  MeetingMemory memory;
  EXPECT_TRUE(memory.Find({}, links).empty());
  EXPECT_EQ(memory.Find(std::vector<MeetingMemory::Job>{{JobId(7), DrawTraffic(4, &random)}}, links),
            std::vector<std::vector<uint32_t>>(1));
}

}  // namespace
}  // namespace fairlead::traffic
