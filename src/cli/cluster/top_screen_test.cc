#include "cli/cluster/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "report/printable_text.h"

namespace fairlead::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ClusterState StateOfJobs(size_t num_jobs) {
  ClusterState state;
  state.server = "http://controller:8080";
  state.now_s = 1.7e9;
  for (size_t j = 0; j < num_jobs; ++j) {
    wire::LiveJob job;
    job.name = "job" + std::to_string(j);
    job.gpus = 8;
    job.iteration_s = 1.0 + 0.01 * static_cast<double>(j);
    job.fastest_iteration_s = 1;
    job.lost_gpus = 0.1 * static_cast<double>(j);
    state.jobs.push_back(job);
  }
  state.hosts.hosts = {{.name = "h0", .connected = true}, {.name = "h1", .connected = false}};
  return state;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string SelectedRow(const std::string& picture) {
  for (const std::string& line : LinesOf(picture)) {
    if (line.starts_with("> ")) return line;
  }
  return "";
}

TEST(TopScreenTest, FitsAnyTerminal) {
  const ClusterState state = StateOfJobs(50);
  for (const size_t width : {1u, 10u, 40u, 100u, 300u}) {
    for (const size_t height : {1u, 3u, 8u, 24u, 200u}) {
      TopScreen screen;
      for (const int key : {0, static_cast<int>('f'), static_cast<int>('h'), static_cast<int>('j'),
                            static_cast<int>(TopScreen::kPageDown)}) {
        screen.Press(key);
        const auto lines = LinesOf(screen.Render(state, {}, width, height));
        EXPECT_LE(lines.size(), height);
        for (const std::string& line : lines) EXPECT_LE(report::DisplayWidth(line), width) << line;
      }
    }
  }
}

TEST(TopScreenTest, TheJobThatLosesMostIsFirstAndKeysSort) {
  const ClusterState state = StateOfJobs(3);
  TopScreen screen;
  EXPECT_THAT(SelectedRow(screen.Render(state, {}, 100, 24)), HasSubstr("job2"));
  screen.Press('n');
  EXPECT_THAT(SelectedRow(screen.Render(state, {}, 100, 24)), HasSubstr("job0"));
  screen.Press('s');
  EXPECT_THAT(SelectedRow(screen.Render(state, {}, 100, 24)), HasSubstr("job2"));
}

TEST(TopScreenTest, TheSelectedRowStaysInSightAndInTheList) {
  const ClusterState state = StateOfJobs(50);
  TopScreen screen;
  screen.Press('n');
  (void)screen.Render(state, {}, 100, 20);
  for (int i = 0; i < 100; ++i) {
    screen.Press(TopScreen::kDown);
    EXPECT_NE(SelectedRow(screen.Render(state, {}, 100, 20)), "");
  }
  EXPECT_THAT(SelectedRow(screen.Render(state, {}, 100, 20)), HasSubstr("job9")) << "the last by name";
  for (int i = 0; i < 10; ++i) screen.Press(TopScreen::kPageUp);
  EXPECT_THAT(SelectedRow(screen.Render(state, {}, 100, 20)), HasSubstr("job0"));
  EXPECT_EQ(SelectedRow(screen.Render(StateOfJobs(0), {}, 100, 20)), "");
}

TEST(TopScreenTest, EnterDescribesTheSelectedJobAndEscapeGoesBack) {
  const ClusterState state = StateOfJobs(3);
  TopScreen screen;
  (void)screen.Render(state, {}, 100, 24);
  screen.Press(TopScreen::kDown);
  screen.Press('\r');
  EXPECT_EQ(screen.described_job(), "job1");
  EXPECT_THAT(screen.Render(state, "all about it\n", 100, 24),
              AllOf(HasSubstr("all about it"), Not(HasSubstr("job2"))));
  screen.Press(TopScreen::kEscape);
  EXPECT_EQ(screen.described_job(), "");
  EXPECT_TRUE(screen.Press('x'));
  EXPECT_FALSE(screen.Press('q'));
}

}  // namespace
}  // namespace fairlead::cli
