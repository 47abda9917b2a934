#include "slurm/elastic_sizing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/fake_slurm_example.h"
#include "store/memory_store.h"
#include "topology/clos_fabrics.h"

namespace fairlead::slurm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// Six hosts of four GPUs.
class ElasticSizingTest : public testing::Test {
 protected:
  ElasticSizingTest() {
    topology::ClosSpec spec;
    spec.leaves = 1;
    spec.hosts_per_leaf = 6;
    fabric_ = topology::BuildClos(spec).value();
    surroundings_.store = &store_;
    surroundings_.fabric = &fabric_;
    surroundings_.acts = true;
    surroundings_.iteration_times = [this] {
      ++num_asked_;
      return std::map<std::string, Seconds>{{"slurm-8@1001", Seconds(2)}};
    };
    surroundings_.excuse = [this](const std::function<bool(const model::JobIdentity&)>& is_meant, SimDuration) {
      excused_ += is_meant(*model::ParseJobKey("slurm-8@1001")) ? "8" : "";
      excused_ += is_meant(*model::ParseJobKey("slurm-9@1001")) ? "9" : "";
    };
    ElasticOrderOptions options;
    options.jobs.partitions = {"train"};
    options.writer.pause = std::chrono::milliseconds(0);
    auto sizing = ElasticSizing::Create(
        options, &surroundings_, &slurm_, &notes_,
        [this](uint32_t job, const std::string& text) { accounts_.push_back(fmt::format("{}: {}", job, text)); },
        [this] { return now_; });
    EXPECT_TRUE(sizing.ok()) << sizing.status().message();
    sizing_ = std::move(sizing).value();
  }

  void AddElastic(uint32_t id, uint32_t num_nodes_max, uint32_t steps) {
    FakeJob job;
    job.owner = 1001;
    job.low = 1;
    job.high = num_nodes_max;
    job.tasks_per_node = job.tasks = job.cpus = 2;
    job.is_held = true;
    job.admin_comment = fmt::format("fairlead:v1 nodes=1-{} tasks-per-node=2 held", num_nodes_max);
    job.comment = fmt::format(R"({{"fairlead": {{"steps": {}}}}})", steps);
    slurm_.jobs[id] = job;
  }
  // A reading, and turns until all that follows from it is done.
  void Look(const std::set<uint32_t>& steered = {}) {
    now_ = now_ + SimDuration(10'000'000'000);
    const auto state = ProgramReader(&slurm_).ReadAll();
    ASSERT_TRUE(state.ok()) << state.status().message();
    sizing_->Look(*state, steered, {});
    for (int i = 0; i < 100 && !sizing_->is_idle(); ++i) sizing_->TakeTurns(steered);
    EXPECT_TRUE(sizing_->is_idle());
  }

  std::vector<std::string> accounts_;
  FakeSlurm slurm_;
  store::MemoryStore store_;
  topology::Fabric fabric_;
  service::SchedulerSurroundings surroundings_;
  std::vector<std::string> told_;
  EngineNotes notes_{
      [this](SimTime, const controller::Noted& note) { told_.push_back(note.subject + ": " + note.text); }};
  SimTime now_ = SimTime(1'000'000'000'000);
  int num_asked_ = 0;
  std::string excused_;
  std::unique_ptr<ElasticSizing> sizing_;
};

TEST_F(ElasticSizingTest, ChangesAreCountedToldAndShown) {
  EXPECT_TRUE(sizing_->sizes().jobs.empty());
  AddElastic(8, 4, 900);
  Look();
  EXPECT_EQ(slurm_.jobs[8].hosts.size(), 4u);
  EXPECT_EQ(num_asked_, 1);
  EXPECT_EQ(sizing_->sizes().num_changes, 1u);
  ASSERT_EQ(sizing_->sizes().jobs.size(), 1u);
  EXPECT_EQ(sizing_->sizes().jobs[0].job, 8u);
  EXPECT_EQ(sizing_->sizes().jobs[0].num_nodes, 4u);
  EXPECT_THAT(told_, Contains(AllOf(HasSubstr("job 8: "), HasSubstr("place job 8 on 4 nodes"))));
  EXPECT_EQ(excused_, "") << "it had no processes";
}

// A shorter job comes, and the one that has all hosts gives way: it is stopped, and the diagnosis is told so, of that
// job alone.
TEST_F(ElasticSizingTest, AJobThatIsStoppedIsExcused) {
  AddElastic(8, 6, 1'000'000);
  for (int i = 0; i < 40; ++i) Look();
  ASSERT_EQ(slurm_.jobs[8].hosts.size(), 6u);
  AddElastic(9, 6, 20'000);
  for (int i = 0; i < 40 && slurm_.jobs[9].hosts.empty(); ++i) Look();
  EXPECT_EQ(excused_, "8");
  EXPECT_FALSE(slurm_.jobs[9].hosts.empty());
}

TEST_F(ElasticSizingTest, WhereSteeringIsNothingIsDecided) {
  AddElastic(8, 4, 900);
  Look({8});
  EXPECT_TRUE(slurm_.jobs[8].hosts.empty());
  EXPECT_EQ(sizing_->sizes().num_changes, 0u);
}

}  // namespace
}  // namespace fairlead::slurm
