#include "controller/path_requests.h"

#include <gtest/gtest.h>

#include "controller/traffic_components_example.h"

namespace fairlead::controller {
namespace {

// What the path service would hear.
template <class T>
std::vector<size_t> PlacesOf(const std::vector<traffic::PathEvent>& events) {
  std::vector<size_t> places;
  for (size_t e = 0; e < events.size(); ++e) {
    if (std::holds_alternative<T>(events[e])) places.push_back(e);
  }
  return places;
}

TEST(PathBatchTest, ReleasesGoFirstAndPortsLast) {
  PathBatch batch(4);
  batch.AddPort({JobId(0), 1, 0}, HostId(0), 50000, 50000);
  batch.AddPort({JobId(0), 2, 0}, HostId(0), 0, 50000);  // not known
  batch.AddOf(HostId(1), traffic::PathsRequested{.request = 1, .host = HostId(1), .job = {}, .connections = {}});
  EXPECT_EQ(batch.Add(traffic::LinkReported{.link = LinkId(0), .health = 1, .source = "x"}), 1u);
  batch.Release(HostId(2), JobId(0), {9});
  EXPECT_TRUE(batch.IsWaiting(HostId(1)));
  EXPECT_FALSE(batch.IsWaiting(HostId(2)));
  EXPECT_TRUE(batch.has_questions());
  const PathBatch::Events events = batch.Take();
  EXPECT_EQ(events.first_question, 1u);
  EXPECT_EQ(PlacesOf<traffic::ConnectionsReleased>(events.all), (std::vector<size_t>{0}));
  EXPECT_EQ(PlacesOf<traffic::PathsRequested>(events.all), (std::vector<size_t>{1}));
  EXPECT_EQ(PlacesOf<traffic::LinkReported>(events.all), (std::vector<size_t>{2}));
  EXPECT_EQ(PlacesOf<traffic::QueuePairOpened>(events.all), (std::vector<size_t>{3}));
  EXPECT_FALSE(batch.IsWaiting(HostId(1)));
  EXPECT_FALSE(batch.has_questions());
  EXPECT_TRUE(batch.Take().all.empty());
}

class PathRequestsTest : public ::testing::Test {
 protected:
  PathRequestsTest() { example_.Connect(0); }

  static PathsWanted Wanted(std::vector<WantedConnection> connections) {
    return {.request = 77, .job = "a", .connections = std::move(connections)};
  }
  static WantedConnection Of(uint64_t connection, uint32_t from, uint32_t to) {
    return {.connection = connection,
            .source = NicAddress(from),
            .destination = NicAddress(to),
            .protocol = 6,
            .destination_port = 5000};
  }

  ComponentExample example_;
  PathRequests requests_{AgentWords(example_.fabric, example_.addresses), &example_.jobs, &example_.streams,
                         &example_.batch, &example_.outputs};
};

TEST_F(PathRequestsTest, WhatCannotBeMeantIsAnsweredBesideTheRest) {
  const std::optional<JobId> job = requests_.Ask(HostId(0), Wanted({Of(1, 0, 3), Of(2, 1, 3), Of(3, 0, 4)}));
  ASSERT_TRUE(job.has_value());
  const std::vector<Noted> notes = OutputsIn<Noted>(example_.outputs.Take());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].text.find("agents ask for their own host only"), std::string::npos);
  const PathBatch::Events events = example_.batch.Take();
  ASSERT_EQ(events.all.size(), 1u);
  const auto& asked = std::get<traffic::PathsRequested>(events.all[0]);
  ASSERT_EQ(asked.connections.size(), 2u);
  EXPECT_EQ(asked.connections[1].connection, 3u);

  EXPECT_EQ(requests_.BeginAnswers(), std::vector<JobId>{*job});
  // Of the two, the second one is refused.
  traffic::PathsGranted granted = {.request = asked.request, .lease = {HostId(0), *job}, .ttl = {}, .connections = {}};
  granted.connections.push_back({.connection = 1, .reason = "", .queue_pairs = {{}}});
  granted.connections.push_back({.connection = 3, .reason = "no", .queue_pairs = {}});
  requests_.Answer(granted);
  const std::vector<PathsAnswered> answers = MessagesIn<PathsAnswered>(example_.outputs.Take());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request, 77u);
  EXPECT_EQ(answers[0].level, 7u);
  ASSERT_EQ(answers[0].connections.size(), 3u);
  EXPECT_EQ(answers[0].connections[0].queue_pairs.size(), 1u);
  EXPECT_NE(answers[0].connections[1].reason, "");
  EXPECT_EQ(answers[0].connections[2].reason, "no");
  EXPECT_NE(example_.jobs.FindConnection(*job, HostId(0), 1), nullptr);
  EXPECT_EQ(example_.jobs.FindConnection(*job, HostId(0), 3), nullptr) << "refused: not held";
  EXPECT_FALSE(example_.jobs.ForgetIfUnused(*job));
}

TEST_F(PathRequestsTest, WithNothingToAskTheAnswerGoesOutNow) {
  EXPECT_EQ(requests_.Ask(HostId(0), Wanted({Of(1, 0, 40)})), std::nullopt);
  const std::vector<TrafficOutput> outputs = example_.outputs.Take();
  EXPECT_EQ(MessagesIn<PathsAnswered>(outputs).size(), 1u);
  EXPECT_EQ(OutputsIn<RecordChanged>(outputs).size(), 0u) << "no job comes of it";
  EXPECT_FALSE(example_.batch.has_questions());
  PathsWanted nameless = Wanted({Of(1, 0, 3)});
  nameless.job = "";
  EXPECT_EQ(requests_.Ask(HostId(0), nameless), std::nullopt);
  EXPECT_EQ(OutputsIn<Noted>(example_.outputs.Take()).size(), 1u);
}

TEST_F(PathRequestsTest, WhatIsRejectedAsAWholeKeepsNoJob) {
  const std::optional<JobId> job = requests_.Ask(HostId(0), Wanted({Of(1, 0, 3)}));
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(example_.jobs.ForgetIfUnused(*job)) << "the question is open";
  requests_.BeginAnswers();
  EXPECT_TRUE(example_.jobs.ForgetIfUnused(*job));
  requests_.EndAnswers();
  EXPECT_TRUE(requests_.BeginAnswers().empty());
}

}  // namespace
}  // namespace fairlead::controller
