// Real processes with and without the real library, by what the kernel tells of them.
#include "service/agent/socket_owners.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/descriptor.h"
#include "base/temporary_folder.h"
#include "service/agent/tcp_sockets.h"

namespace fairlead::service {
namespace {

// A process with a connection to `listener`, until this ends.
class Client {
 public:
  Client(const std::string& environment, int listener) {
    sockaddr_in at = {};
    socklen_t length = sizeof(at);
    getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length);
    const std::string command = environment + " exec " FAIRLEAD_STEER_CLIENT " connect 127.0.0.1 " +
                                std::to_string(ntohs(at.sin_port)) + " sends > /dev/null";
    process_ = popen(command.c_str(), "w");
    sockaddr_in from = {};
    length = sizeof(from);
    accepted_ = Descriptor(accept(listener, reinterpret_cast<sockaddr*>(&from), &length));
    const auto sockets = ListTcpSockets();
    for (const agent::SeenSocket& socket : *sockets) {
      if (socket.ends.local_port == ntohs(from.sin_port) && socket.ends.remote_port == ntohs(at.sin_port)) {
        inode_ = socket.inode;
      }
    }
  }
  ~Client() { pclose(process_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  uint64_t inode() const { return inode_; }

 private:
  FILE* process_;
  Descriptor accepted_;
  uint64_t inode_ = 0;
};

TEST(SocketOwners, OnlyTrainingProcessesThatWouldHaveAsked) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  const TemporaryFolder folder;
  const std::string agent = folder.File("agent.sock");
  std::ofstream(agent) << "stands for a socket";
  std::filesystem::create_symlink(agent, folder.File("link"));
  const std::string job = "FAIRLEAD_JOB=gpt FAIRLEAD_AGENT_SOCKET=" + folder.File("link");
  const std::string library = "LD_PRELOAD=" FAIRLEAD_STEER_LIBRARY;
  const Client training(job + " " + library, listener.get());
  const Client without_library(job, listener.get());
  const Client without_job(library, listener.get());
  const Client of_another_agent("FAIRLEAD_JOB=gpt FAIRLEAD_AGENT_SOCKET=/nowhere/agent.sock " + library,
                                listener.get());
  ASSERT_NE(training.inode(), 0u);
  ASSERT_NE(without_library.inode(), 0u);
  ASSERT_NE(without_job.inode(), 0u);
  ASSERT_NE(of_another_agent.inode(), 0u);
  const std::array<uint64_t, 5> inodes = {without_library.inode(), training.inode(), without_job.inode(),
                                          of_another_agent.inode(), 1};
  JobIdentifier jobs;
  const auto owners = FindSocketOwners(inodes, agent, &jobs, SimTime());
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0].inode, training.inode());
  EXPECT_EQ(owners[0].job, "gpt");
  EXPECT_TRUE(SocketsOf(owners[0].pid).contains(training.inode()));
  EXPECT_TRUE(FindSocketOwners({}, agent, &jobs, SimTime()).empty());
}

}  // namespace
}  // namespace fairlead::service
