#include "lab/jobs_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "base/random.h"
#include "base/temporary_folder.h"

namespace fairlead::lab {
namespace {

// Takes requests until there is one: the client is a thread that may not have started yet.
JobsServer::Question TakeOne(JobsServer* jobs_server) {
  while (true) {
    auto questions = jobs_server->Take();
    if (!questions.empty()) return questions.front();
    std::this_thread::yield();
  }
}

TEST(JobsServer, AnswersGoToThoseWhoAsked) {
  const TemporaryFolder folder;
  const std::string path = folder.File("jobs_server");
  auto jobs_server = JobsServer::Open(path);
  ASSERT_TRUE(jobs_server.ok()) << jobs_server.status().message();
  Result<JobsAnswer> first = Internal(""), second = Internal("");
  std::thread a([&] { first = AskJobs(path, "first", 60); });
  const JobsServer::Question one = TakeOne(&*jobs_server);
  std::thread b([&] { second = AskJobs(path, "second", 60); });
  const JobsServer::Question two = TakeOne(&*jobs_server);
  EXPECT_EQ(one.text, "first");
  EXPECT_EQ(two.text, "second");
  // In the other order.
  jobs_server->Answer(two.id, {.exit_code = 1, .message = "later", .is_healthy = std::nullopt});
  jobs_server->Answer(one.id, {.exit_code = 0, .message = "passed", .is_healthy = true});
  a.join();
  b.join();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, (JobsAnswer{0, "passed", true}));
  EXPECT_EQ(*second, (JobsAnswer{1, "later", std::nullopt}));
}

TEST(JobsServer, NoProcessIsThere) {
  const auto answer = AskJobs(TemporaryFolder().File("jobs_server"), "?", 60);
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.status().message().find("fairlead lab diagnose"), std::string::npos);
}

Descriptor Call(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Descriptor caller(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return caller;
}

TEST(JobsServer, ADepartedOrSilentClientDelaysNoOther) {
  const TemporaryFolder folder;
  const std::string path = folder.File("jobs_server");
  auto jobs_server = JobsServer::Open(path);
  ASSERT_TRUE(jobs_server.ok());
  const Descriptor silent = Call(path);
  Call(path).Close();
  EXPECT_TRUE(jobs_server->Take().empty());
  Descriptor asks = Call(path);
  ASSERT_EQ(send(asks.get(), "q", 1, 0), 1);
  const auto questions = jobs_server->Take();
  ASSERT_EQ(questions.size(), 1u);
  asks.Close();
  jobs_server->Answer(questions[0].id, {});
  jobs_server->Answer(questions[0].id, {});  // twice: no client is answered twice
  EXPECT_TRUE(jobs_server->Take().empty());
}

// Its content is for the receiver to refuse; anything beyond the size of a message is cut off.
TEST(JobsServer, NoiseComesAsItIs) {
  const TemporaryFolder folder;
  const std::string path = folder.File("jobs_server");
  auto jobs_server = JobsServer::Open(path);
  ASSERT_TRUE(jobs_server.ok());
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    std::string noise(1 + random.Below(100'000), '\0');
    for (char& byte : noise) byte = static_cast<char>(random.Below(256));
    const Descriptor caller = Call(path);
    ASSERT_EQ(send(caller.get(), noise.data(), noise.size(), MSG_NOSIGNAL), static_cast<ssize_t>(noise.size()));
    const auto questions = jobs_server->Take();
    ASSERT_EQ(questions.size(), 1u);
    EXPECT_TRUE(questions[0].text == noise);
    jobs_server->Answer(questions[0].id, {.exit_code = 2, .message = noise.substr(0, 100), .is_healthy = std::nullopt});
    std::string answer(1000, '\0');
    EXPECT_GT(recv(caller.get(), answer.data(), answer.size(), MSG_DONTWAIT), 0);
  }
}

TEST(JobsServer, ASocketThatWasLeftOverIsReplacedAndGoesWithTheDoor) {
  const TemporaryFolder folder;
  const std::string path = folder.File("jobs_server");
  {
    auto jobs_server = JobsServer::Open(path);
    ASSERT_TRUE(jobs_server.ok());
    auto again = JobsServer::Open(path);
    ASSERT_TRUE(again.ok());
  }
  struct stat found = {};
  EXPECT_NE(stat(path.c_str(), &found), 0);
  EXPECT_FALSE(JobsServer::Open("/" + std::string(200, 'x')).ok());
}

}  // namespace
}  // namespace fairlead::lab
