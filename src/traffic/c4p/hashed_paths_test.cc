#include "traffic/c4p/hashed_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::traffic::c4p {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr QueuePairRef kFirst{0, 0};
constexpr QueuePairRef kSecond{1, 0};

ConnectionRequest RequestTo(uint32_t destination) {
  ConnectionRequest request;
  request.source = NicId(0);
  request.destination = NicId(destination);
  request.protocol = 6;
  request.destination_port = 29'500;
  return request;
}

PortScanSeen Seen(const ConnectionRequest& request, uint16_t port, uint64_t epoch, std::vector<LinkId> links) {
  PortScanSeen seen;
  seen.source = request.source;
  seen.destination = request.destination;
  seen.protocol = request.protocol;
  seen.destination_port = request.destination_port;
  seen.epoch = epoch;
  ProbedRoute route;
  route.links = std::move(links);
  route.ports = {port};
  seen.routes.push_back(route);
  return seen;
}

TEST(HashedPathsTest, APortIsAskedForOnceAndItsLinksAreRemembered) {
  HashedPaths paths;
  const ConnectionRequest request = RequestTo(1);
  EXPECT_FALSE(paths.Follow(kFirst, request, 0)) << "not open";
  EXPECT_TRUE(paths.Follow(kFirst, request, 50'000));
  EXPECT_FALSE(paths.Follow(kFirst, request, 50'000));
  EXPECT_EQ(paths.NoteAsked(kFirst, 3, SimTime(10)), 50'000);
  EXPECT_THAT(paths.Unseen(SimTime(9)), IsEmpty());
  EXPECT_THAT(paths.Unseen(SimTime(10)), ElementsAre(kFirst));
  EXPECT_THAT(paths.LinksOf(kFirst), IsEmpty());
  paths.Learn(Seen(request, 50'000, 3, {LinkId(4), LinkId(5)}));
  EXPECT_THAT(paths.LinksOf(kFirst), ElementsAre(LinkId(4), LinkId(5)));
  EXPECT_THAT(paths.Unseen(SimTime(100)), IsEmpty());
}

TEST(HashedPathsTest, ProbesFromBeforeAChangeOfTheFabricSayNothing) {
  HashedPaths paths;
  const ConnectionRequest request = RequestTo(1);
  paths.Follow(kFirst, request, 50'000);
  paths.NoteAsked(kFirst, 3, SimTime(10));
  paths.Learn(Seen(request, 50'000, 3, {LinkId(4)}));
  paths.NoteAsked(kFirst, 4, SimTime(20));
  paths.Learn(Seen(request, 50'000, 3, {LinkId(6)}));
  EXPECT_THAT(paths.LinksOf(kFirst), ElementsAre(LinkId(4))) << "the last one counts until another is seen";
  EXPECT_THAT(paths.Unseen(SimTime(20)), ElementsAre(kFirst));
  paths.Learn(Seen(request, 50'000, 4, {}));
  EXPECT_THAT(paths.Unseen(SimTime(20)), ElementsAre(kFirst)) << "a route without links was not seen";
  paths.Learn(Seen(request, 50'000, 4, {LinkId(6)}));
  EXPECT_THAT(paths.LinksOf(kFirst), ElementsAre(LinkId(6)));
}

// The end of the first one is told after the beginning of the second one.
TEST(HashedPathsTest, APortThatIsUsedAgainBelongsToTheNewOne) {
  HashedPaths paths;
  const ConnectionRequest request = RequestTo(1);
  paths.Follow(kFirst, request, 50'000);
  EXPECT_TRUE(paths.Follow(kSecond, request, 50'000));
  paths.NoteAsked(kSecond, 0, SimTime(1));
  paths.Forget(kFirst);
  paths.Learn(Seen(request, 50'000, 0, {LinkId(7)}));
  EXPECT_THAT(paths.LinksOf(kSecond), ElementsAre(LinkId(7)));
  EXPECT_THAT(paths.All(), ElementsAre(kSecond));
  paths.Forget(kSecond);
  paths.Forget(kSecond);
  EXPECT_THAT(paths.All(), IsEmpty());
}

TEST(HashedPathsTest, AnotherPortOfTheSameQueuePairIsAnotherPath) {
  HashedPaths paths;
  const ConnectionRequest request = RequestTo(1);
  paths.Follow(kFirst, request, 50'000);
  paths.NoteAsked(kFirst, 0, SimTime(1));
  paths.Learn(Seen(request, 50'000, 0, {LinkId(7)}));
  EXPECT_TRUE(paths.Follow(kFirst, request, 50'001));
  EXPECT_THAT(paths.LinksOf(kFirst), IsEmpty());
  paths.Learn(Seen(request, 50'000, 0, {LinkId(7)}));
  EXPECT_THAT(paths.LinksOf(kFirst), IsEmpty());
}

}  // namespace
}  // namespace fairlead::traffic::c4p
