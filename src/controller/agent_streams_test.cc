#include "controller/agent_streams.h"

#include <gtest/gtest.h>

#include "controller/announcements.h"
#include "controller/traffic_components_example.h"
#include "controller/traffic_views.h"

namespace fairlead::controller {
namespace {

TEST(AgentStreamsTest, TheNewerStreamOfAHostCounts) {
  ComponentExample example;
  AgentStreams& streams = example.streams;
  streams.Bind(StreamId(7u), HostId(1), {.host = "h1", .agent_version = "test", .nics = {}}, SimTime(5));
  EXPECT_EQ(MessagesIn<Welcome>(example.outputs.Take()).size(), 1u);
  EXPECT_EQ(streams.FindSender(StreamId(7u)).host, HostId(1));
  EXPECT_EQ(streams.agent(HostId(1)).last_message, SimTime(5));

  streams.Bind(StreamId(8u), HostId(1), {.host = "h1", .agent_version = "test", .nics = {}}, SimTime(6));
  const std::vector<TrafficOutput> outputs = example.outputs.Take();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(std::get<EndStream>(outputs[0]).stream, StreamId(7u));
  EXPECT_EQ(std::get<SendToStream>(outputs[1]).stream, StreamId(8u));
  EXPECT_TRUE(streams.FindSender(StreamId(7u)).is_closed);

  // What was asked on the first one is answered to nobody, and its end is not that of the host.
  streams.Answer(StreamId(7u), PathsAnswered());
  EXPECT_TRUE(example.outputs.Take().empty());
  EXPECT_EQ(streams.End(StreamId(7u)), std::nullopt);
  EXPECT_TRUE(streams.IsConnected(HostId(1)));
  EXPECT_EQ(streams.End(StreamId(8u)), HostId(1));
  EXPECT_FALSE(streams.IsConnected(HostId(1)));
  streams.SendTo(HostId(1), AnnouncementWanted{});
  EXPECT_TRUE(example.outputs.Take().empty());
  EXPECT_EQ(streams.End(StreamId(9u)), std::nullopt) << "nobody ever spoke on it";
}

// Of a host whose agent is away, or has said nothing since it came, nothing is known.
TEST(AgentStreamsTest, JobsOfSlurmAreThoseOfTheLastHeartbeat) {
  ComponentExample example;
  AgentStreams& streams = example.streams;
  const auto jobs = [&] { return ViewHosts(example.fabric, streams)[2].slurm_jobs; };
  example.Connect(2);
  EXPECT_EQ(jobs(), std::nullopt);
  streams.Hear(HostId(2), Heartbeat{.sees_slurm = true, .slurm_jobs = {7, 9}});
  EXPECT_EQ(jobs(), (std::vector<uint32_t>{7, 9}));
  streams.Hear(HostId(2), Heartbeat{.sees_slurm = false, .slurm_jobs = {7}});
  EXPECT_EQ(jobs(), std::nullopt);
  streams.Hear(HostId(2), Heartbeat{.sees_slurm = true});
  EXPECT_EQ(jobs(), std::vector<uint32_t>());
  EXPECT_EQ(streams.End(StreamId(2u)), HostId(2));
  EXPECT_EQ(jobs(), std::nullopt);
  example.Connect(2);
  EXPECT_EQ(jobs(), std::nullopt);
}

TEST(AgentStreamsTest, HellosHaveToFitTheFabric) {
  const ComponentExample example;
  EXPECT_EQ(example.streams.FindFault(example.Hello(0)), "");
  HostHello hello = example.Hello(0);
  hello.protocol_version++;
  EXPECT_NE(example.streams.FindFault(hello).find("this controller (1.2) speaks"), std::string::npos);
  hello = example.Hello(0);
  hello.host = "h0\nx";
  EXPECT_NE(example.streams.FindFault(hello).find("host 'h0?x'"), std::string::npos) << "fit for terminals";
  hello = example.Hello(0);
  hello.nics = {NicAddress(1)};
  EXPECT_NE(example.streams.FindFault(hello).find("it belongs to"), std::string::npos);
}

TEST(AgentStreamsTest, ASecondHelloEndsTheStream) {
  ComponentExample example;
  example.Connect(2);
  example.streams.RefuseSecondHello(HostId(2));
  const std::vector<TrafficOutput> outputs = example.outputs.Take();
  EXPECT_EQ(MessagesIn<Refused>(outputs).size(), 1u);
  EXPECT_TRUE(std::holds_alternative<EndStream>(outputs.back())) << "after all that is said";
  EXPECT_FALSE(example.streams.IsConnected(HostId(2)));
  EXPECT_TRUE(example.streams.FindSender(StreamId(2u)).is_closed);
}

TEST(AnnouncementsTest, WhatWasNamedSinceTheLastQuestionCounts) {
  ComponentExample example;
  example.Connect(1);
  Announcements announcements(example.fabric.num_hosts(), &example.streams);
  announcements.Name(HostId(1), JobId(3));
  EXPECT_EQ(announcements.Finish(HostId(1)), std::nullopt) << "it was not asked";
  announcements.AskFor(HostId(1));
  EXPECT_EQ(MessagesIn<AnnouncementWanted>(example.outputs.Take()).size(), 1u);
  announcements.Name(HostId(1), JobId(3));
  announcements.AskFor(HostId(1));
  announcements.Name(HostId(1), JobId(4));
  EXPECT_EQ(announcements.Finish(HostId(1)), std::set<JobId>{JobId(4)});
  EXPECT_EQ(announcements.Finish(HostId(1)), std::nullopt) << "answered";
}

}  // namespace
}  // namespace fairlead::controller
