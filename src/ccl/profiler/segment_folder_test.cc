// The agent's view of training processes into which the real plugin is loaded: running, stopped, dead, replaced.
#include "service/agent/segment_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "ccl/profiler/simulated_process_example.h"
#include "model/job_identity.h"
#include "telemetry/segment_example.h"

namespace fairlead::service {
namespace {

using ccl::SimulatedProcess;
using ccl::SimulatedProcessOptions;
using model::ProcessState;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// No descriptor can be opened while one of these lives: EMFILE.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

class SegmentFolderTest : public testing::Test {
 protected:
  SegmentFolderTest() {
    folder_.emplace(SegmentFolderOptions{.folder = segments_.path()});
    folder_->Look();  // what comes from now on is new
  }

  SimulatedProcessOptions Options() const { return {.folder = segments_.path()}; }
  std::string FileOf(pid_t pid) const { return segments_.File("fairlead-" + std::to_string(pid)); }
  ProcessLook LookAtOne() {
    FolderLook look = folder_->Look();
    EXPECT_THAT(look.faults, IsEmpty());
    EXPECT_THAT(look.processes, SizeIs(1));
    return look.processes.empty() ? ProcessLook() : look.processes.front();
  }
  // Why the file of a living process is not read, after `change`.
  template <typename Change>
  std::string FaultAfter(const Change& change) {
    SimulatedProcess process(Options());
    change(FileOf(process.pid()));
    const FolderLook look = folder_->Look();
    EXPECT_THAT(look.processes, IsEmpty());
    EXPECT_TRUE(std::filesystem::exists(FileOf(process.pid()))) << "not ours to take away";
    std::filesystem::remove(FileOf(process.pid()));
    return look.faults.size() == 1 ? look.faults[0].reason : "";
  }

  const TemporaryFolder segments_;
  std::optional<SegmentFolder> folder_;
};

TEST_F(SegmentFolderTest, ARunningProcess) {
  SimulatedProcess process(Options());
  process.Iterate();
  const ProcessLook look = LookAtOne();
  EXPECT_EQ(look.state, ProcessState::kRunning);
  EXPECT_EQ(look.report.job, "gpt");
  EXPECT_EQ(look.report.pid, process.pid());
  EXPECT_EQ(look.report.global_rank, 0);
  ASSERT_THAT(look.report.communicators, SizeIs(1));
  EXPECT_EQ(look.report.communicators[0].num_ranks, 4u);
  ASSERT_THAT(look.report.connections, SizeIs(2));
  EXPECT_EQ(look.report.connections[0].messages, 1u);
  ASSERT_THAT(look.report.operations, SizeIs(1));
  EXPECT_THAT(LookAtOne().report.connections, IsEmpty()) << "nothing since";
}

// Names of files are foreseeable, so another user may be there first.
TEST_F(SegmentFolderTest, AFileOfAnotherUserUnderItsNameIsNoHindrance) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
  std::filesystem::permissions(segments_.path(), std::filesystem::perms(01777));
  // Those of the next numbers of processes.
  const pid_t next = fork();
  if (next == 0) _exit(0);
  waitpid(next, nullptr, 0);
  for (pid_t pid = next; pid < next + 300; ++pid) {
    std::ofstream(FileOf(pid)) << "mine";
    ASSERT_EQ(chown(FileOf(pid).c_str(), 1234, 1234), 0);
  }
  SimulatedProcessOptions options = Options();
  options.user = 65534;
  SimulatedProcess process(options);
  process.Iterate();
  const FolderLook look = folder_->Look();
  ASSERT_THAT(look.processes, SizeIs(1));
  EXPECT_EQ(look.processes[0].report.pid, process.pid());
  EXPECT_EQ(look.processes[0].report.job, "gpt@65534");
  EXPECT_THAT(look.processes[0].report.operations, SizeIs(1));
  process.Leave();
  EXPECT_THAT(folder_->Look().processes, SizeIs(1));
  EXPECT_THAT(folder_->Look().processes, IsEmpty());
}

TEST_F(SegmentFolderTest, SoManyFilesOfAUserAreLookedAt) {
  folder_.emplace(SegmentFolderOptions{.folder = segments_.path(), .num_per_user_max = 3});
  std::vector<SimulatedProcess> processes;
  for (int i = 0; i < 5; ++i) processes.emplace_back(Options());
  const FolderLook look = folder_->Look();
  EXPECT_THAT(look.processes, SizeIs(3));
  ASSERT_THAT(look.faults, SizeIs(1));
  EXPECT_THAT(look.faults[0].reason, HasSubstr("has more files here than are looked at: 3 of one user"));
  if (geteuid() != 0) return;
  std::filesystem::permissions(segments_.path(), std::filesystem::perms(01777));
  SimulatedProcessOptions options = Options();
  options.user = 65534;
  const SimulatedProcess other(options);
  EXPECT_THAT(folder_->Look().processes, SizeIs(4)) << "one user's many files are not held against another";
}

// One process, whatever its user calls it; and what can't be a segment takes nobody's place.
TEST_F(SegmentFolderTest, AFileOfManyNamesIsOne) {
  folder_.emplace(SegmentFolderOptions{.folder = segments_.path(), .num_per_user_max = 3});
  SimulatedProcess process(Options());
  for (int i = 0; i < 20; ++i) {
    std::filesystem::create_hard_link(FileOf(process.pid()), FileOf(process.pid()) + fmt::format(".{:x}0", i));
    std::ofstream(FileOf(4'000'000 + i)) << "no segment";
  }
  SimulatedProcess second(Options());
  SimulatedProcess third(Options());
  for (int i = 0; i < 3; ++i) {
    const FolderLook look = folder_->Look();
    EXPECT_THAT(look.processes, SizeIs(3));
    EXPECT_LE(look.faults.size(), 10u) << "a few are named, and that there are more";
  }
  process.Leave();
}

TEST_F(SegmentFolderTest, AllUsersTogetherHaveSoMany) {
  folder_.emplace(SegmentFolderOptions{.folder = segments_.path(), .num_max = 2});
  std::vector<SimulatedProcess> processes;
  for (int i = 0; i < 3; ++i) processes.emplace_back(Options());
  EXPECT_THAT(folder_->Look().processes, SizeIs(2));
}

// Tables that are full take memory: of a user who has many of them, some are left out.
TEST_F(SegmentFolderTest, WhatTellsTooMuchIsLeftOutForAWhile) {
  SimulatedProcess process(Options());
  SimulatedProcess busy(Options());
  process.BeginAndWait();
  busy.BeginMany();
  folder_.emplace(SegmentFolderOptions{.folder = segments_.path(), .num_records_max = 3});
  const FolderLook look = folder_->Look();
  EXPECT_THAT(look.processes, SizeIs(1));
  ASSERT_THAT(look.faults, SizeIs(1));
  EXPECT_THAT(look.faults[0].reason, HasSubstr("left out for a minute"));
  const FolderLook next = folder_->Look();
  EXPECT_THAT(next.processes, SizeIs(1));
  EXPECT_THAT(next.faults, IsEmpty()) << "it is not tried again and again";
}

// A key is what the kernel says; in a file it is a name that is none.
TEST_F(SegmentFolderTest, NobodyWritesTheKeyOfAnothersJob) {
  SimulatedProcessOptions options = Options();
  SimulatedProcess process(options);
  shm::SegmentHeader header;
  {
    std::fstream file(FileOf(process.pid()), std::ios::in | std::ios::out | std::ios::binary);
    file.read(reinterpret_cast<char*>(&header), sizeof(header));
    std::strcpy(header.job, "gpt@1001");
    file.seekp(offsetof(shm::SegmentHeader, job));
    file.write(header.job, sizeof(header.job));
  }
  EXPECT_FALSE(model::IsJobKey(LookAtOne().report.job));
}

// What it was doing is there although it does nothing any more.
TEST_F(SegmentFolderTest, AFrozenProcess) {
  SimulatedProcess process(Options());
  process.BeginAndWait();
  process.Freeze();
  for (int i = 0; i < 2; ++i) {
    const ProcessLook look = LookAtOne();
    EXPECT_EQ(look.state, ProcessState::kStopped);
    EXPECT_EQ(look.report.busy_connections, 2u);
    ASSERT_THAT(look.report.operations, SizeIs(1));
    EXPECT_FALSE(look.report.operations[0].finished.has_value());
  }
}

// Looked at while it works: each look fits together, and all looks together are what it did.
TEST_F(SegmentFolderTest, AProcessThatIsBusyMeanwhile) {
  SimulatedProcess process(Options());
  process.BeginMany();
  uint64_t messages[2] = {};
  uint64_t bytes[2] = {};
  uint64_t finished = 0;
  std::map<uint64_t, int> reported;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (finished < SimulatedProcess::kMany && std::chrono::steady_clock::now() < deadline) {
    const telemetry::ProcessReport report = LookAtOne().report;
    ASSERT_EQ(telemetry::FindFault(report), "");
    for (const model::ConnectionRecord& connection : report.connections) {
      const auto direction = static_cast<size_t>(connection.key.direction);
      messages[direction] += connection.messages;
      bytes[direction] += connection.bytes;
      EXPECT_EQ(bytes[direction], messages[direction] << 20) << "each message is 1 MiB";
    }
    for (const model::OperationRecord& operation : report.operations) {
      if (operation.finished) ++reported[operation.sequence];
    }
    ASSERT_THAT(report.progress, SizeIs(1));
    EXPECT_GE(report.progress[0].finished, finished);
    finished = report.progress[0].finished;
  }
  EXPECT_EQ(finished, SimulatedProcess::kMany);
  for (const size_t direction : {0, 1}) EXPECT_EQ(messages[direction], SimulatedProcess::kMany);
  EXPECT_THAT(reported, SizeIs(SimulatedProcess::kMany)) << "fewer than there are slots: none is missed";
}

TEST_F(SegmentFolderTest, AKilledProcessIsLookedAtOnceMoreAndItsFileTakenAway) {
  SimulatedProcess process(Options());
  process.Iterate();
  const pid_t pid = process.pid();
  LookAtOne();
  process.BeginAndStick();
  process.Kill();
  const ProcessLook look = LookAtOne();
  EXPECT_EQ(look.state, ProcessState::kGone);
  EXPECT_EQ(look.exit.end, model::ProcessEnd::kBroken);
  EXPECT_EQ(look.exit.code.value_or(-SIGKILL), -SIGKILL) << "or not known";
  EXPECT_TRUE(look.exit.at.has_value());
  EXPECT_EQ(look.report.busy_connections, 2u);
  EXPECT_FALSE(std::filesystem::exists(FileOf(pid)));
  EXPECT_THAT(folder_->Look().processes, IsEmpty());
}

// Seen in one look, as two deaths of a second are: the one that went first is known.
TEST_F(SegmentFolderTest, TheOrderOfDeathsBetweenTwoLooksIsKnown) {
  for (int round = 0; round < 5; ++round) {
    std::vector<SimulatedProcess> processes;
    for (int i = 0; i < 4; ++i) processes.emplace_back(Options());
    EXPECT_THAT(folder_->Look().processes, SizeIs(4));
    std::vector<pid_t> order;
    for (const size_t i : {3, 1, 2, 0}) {
      order.push_back(processes[i].pid());
      processes[i].BeginAndStick();
      processes[i].Kill();
    }
    std::map<SimTime, pid_t> by_death;
    for (const ProcessLook& look : folder_->Look().processes) {
      ASSERT_EQ(look.state, ProcessState::kGone);
      ASSERT_TRUE(look.exit.at.has_value());
      EXPECT_EQ(look.exit.within, SimDuration(0));
      by_death[*look.exit.at] = look.report.pid;
    }
    std::vector<pid_t> found;
    for (const auto& [at, pid] : by_death) found.push_back(pid);
    EXPECT_EQ(found, order);
  }
}

// /proc mounted with hidepid shows a living process of another user as it shows none.
TEST_F(SegmentFolderTest, AProcessThatIsHiddenIsNotGone) {
  const TemporaryFolder nothing;
  SimulatedProcess process(Options());
  for (const bool is_known : {true, false}) {
    if (is_known) LookAtOne();
    SegmentFolder blind({.folder = segments_.path(), .proc_folder = nothing.path()});
    for (int i = 0; i < 2; ++i) {
      for (const ProcessLook& look : blind.Look().processes) EXPECT_NE(look.state, ProcessState::kGone);
    }
    EXPECT_TRUE(std::filesystem::exists(FileOf(process.pid()))) << "not to be taken away";
  }
  EXPECT_EQ(LookAtOne().state, ProcessState::kRunning);
}

// Its file is gone with it; what it did at its end is still reported.
TEST_F(SegmentFolderTest, AProcessThatLeavesIsLookedAtOnceMore) {
  SimulatedProcess process(Options());
  LookAtOne();
  process.Iterate();
  process.Leave();
  const ProcessLook look = LookAtOne();
  EXPECT_EQ(look.state, ProcessState::kGone);
  EXPECT_EQ(look.exit.end, model::ProcessEnd::kRegular);
  EXPECT_EQ(look.exit.code.value_or(0), 0) << "or not known";
  EXPECT_TRUE(look.report.is_finalizing);
  EXPECT_THAT(folder_->Look().processes, IsEmpty());
}

// A file that an earlier process of that number has left: by its start it is of one that is gone.
TEST_F(SegmentFolderTest, ANumberThatIsGivenAgain) {
  SimulatedProcess process(Options());
  const int file = open(FileOf(process.pid()).c_str(), O_RDWR | O_CLOEXEC);
  const uint64_t start = 1;  // in ticks after the machine's
  ASSERT_EQ(pwrite(file, &start, sizeof(start), offsetof(shm::SegmentHeader, process_start)), ssize_t{sizeof(start)});
  close(file);
  EXPECT_EQ(LookAtOne().state, ProcessState::kGone);
  EXPECT_FALSE(std::filesystem::exists(FileOf(process.pid())));
}

// An agent that is started later: the past is not reported as if it had happened in the last second.
TEST_F(SegmentFolderTest, AnAgentThatComesLate) {
  SimulatedProcess process(Options());
  for (int i = 0; i < 5; ++i) process.Iterate();
  SegmentFolder late({.folder = segments_.path()});
  FolderLook look = late.Look();
  ASSERT_THAT(look.processes, SizeIs(1));
  EXPECT_THAT(look.processes[0].report.connections, IsEmpty());
  process.Iterate();
  look = late.Look();
  ASSERT_THAT(look.processes[0].report.connections, SizeIs(2));
  EXPECT_EQ(look.processes[0].report.connections[0].messages, 1u);
}

// Next to the agent, which is responsible for the files of dead processes.
TEST_F(SegmentFolderTest, AReaderReceivesAllAndRemovesNothing) {
  SimulatedProcess process(Options());
  for (int i = 0; i < 5; ++i) process.Iterate();
  process.Kill();
  for (int i = 0; i < 2; ++i) {
    const FolderLook look = SegmentFolder({.folder = segments_.path(), .only_looks = true}).Look();
    ASSERT_THAT(look.processes, SizeIs(1));
    EXPECT_EQ(look.processes[0].state, ProcessState::kGone);
    EXPECT_THAT(look.processes[0].report.operations, SizeIs(5));
    ASSERT_THAT(look.processes[0].report.connections, SizeIs(2));
    EXPECT_EQ(look.processes[0].report.connections[0].messages, 5u);
  }
  EXPECT_EQ(LookAtOne().state, ProcessState::kGone);
  EXPECT_FALSE(std::filesystem::exists(FileOf(process.pid())));
}

TEST_F(SegmentFolderTest, AFileThatIsCutShortIsAnErrorAndNoSignal) {
  SimulatedProcess process(Options());
  LookAtOne();
  ASSERT_EQ(truncate(FileOf(process.pid()).c_str(), 5000), 0);
  process.Freeze();  // or it would find out by a signal
  const FolderLook look = folder_->Look();
  EXPECT_THAT(look.processes, IsEmpty());
  ASSERT_THAT(look.faults, SizeIs(1));
  EXPECT_THAT(look.faults[0].reason, HasSubstr("ends before its tables do"));
}

TEST_F(SegmentFolderTest, OtherFilesAreReportedAndLeftAlone) {
  const auto replace_by = [](const auto& make) {
    return [&make](const std::string& path) {
      std::filesystem::remove(path);
      make(path);
    };
  };
  EXPECT_THAT(FaultAfter(replace_by([](const std::string& p) { std::ofstream(p) << "hello"; })),
              HasSubstr("expected 2"));
  EXPECT_THAT(FaultAfter(replace_by([](const std::string& p) { mkfifo(p.c_str(), 0600); })), HasSubstr("regular file"));
  EXPECT_THAT(FaultAfter(replace_by([](const std::string& p) { std::filesystem::create_symlink("/dev/zero", p); })),
              HasSubstr("can't be opened"));
  EXPECT_THAT(FaultAfter(replace_by([](const std::string& p) {
                std::ofstream(p).close();
                std::filesystem::resize_file(p, sizeof(shm::ProfilerSegment));
              })),
              HasSubstr("no segment"));
  EXPECT_THAT(FaultAfter([](const std::string& path) {
                const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
                const int32_t pid = 1;
                EXPECT_EQ(pwrite(file, &pid, sizeof(pid), offsetof(shm::SegmentHeader, pid)), ssize_t{sizeof(pid)});
                close(file);
              }),
              HasSubstr("of process 1"));
}

// Whom it knew is looked at as before.
TEST_F(SegmentFolderTest, AVanishedFolderIsReported) {
  SimulatedProcess process(Options());
  EXPECT_TRUE(folder_->Look().listing.ok());
  std::filesystem::rename(Options().folder, Options().folder + ".moved");
  process.Iterate();
  const FolderLook look = folder_->Look();
  EXPECT_THAT(look.listing.message(), HasSubstr("can't be listed"));
  EXPECT_THAT(look.processes, SizeIs(1));
  std::filesystem::rename(Options().folder + ".moved", Options().folder);
  EXPECT_TRUE(folder_->Look().listing.ok());
}

TEST_F(SegmentFolderTest, AnotherUsersFileIsNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  EXPECT_THAT(FaultAfter([](const std::string& path) { EXPECT_EQ(chown(path.c_str(), 4242, 0), 0); }),
              HasSubstr("belongs to user 4242"));
}

TEST_F(SegmentFolderTest, OtherFilesAreIgnored) {
  for (const char* name : {"fairlead-", "fairlead-12x", "fairlead--5", "fairlead-007", "sem.other"}) {
    std::ofstream(segments_.File(name)) << "x";
  }
  const FolderLook look = folder_->Look();
  EXPECT_THAT(look.processes, IsEmpty());
  EXPECT_THAT(look.faults, IsEmpty());
  SegmentFolder nowhere({.folder = "/nowhere"});
  EXPECT_THAT(nowhere.Look().processes, IsEmpty());
}

// Training continues, recorded without a name; the process reports why, once.
TEST_F(SegmentFolderTest, ABadJobNameIsReportedOnceAndRecordedAsNone) {
  for (const char* name : {"a b;rm -rf /", "../../etc/passwd", "$(id)"}) {
    testing::internal::CaptureStderr();
    SimulatedProcess process({.folder = segments_.path(), .job = name});
    process.Iterate();
    process.Iterate();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("FAIRLEAD_JOB: expected the name of a job"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(said.find(name), said.npos);
    EXPECT_EQ(LookAtOne().report.job, "");
    process.Leave();
    folder_->Look();
  }
}

// Without a descriptor left to open /proc/PID/stat with, no living process counts as dead: known ones are reported as
// before, and nothing of theirs is removed. Of one that is watched the kernel tells the end all the same.
TEST_F(SegmentFolderTest, WithoutDescriptorsNoLivingProcessIsTreatedAsDead) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens pipes to look at memory";
#endif
  SimulatedProcess known(Options());
  SimulatedProcess other(Options());
  EXPECT_THAT(folder_->Look().processes, SizeIs(2));
  SimulatedProcess unknown(Options());
  const pid_t killed = other.pid();
  other.Kill();
  {
    const NoDescriptors none;
    const auto is_gone = [](const ProcessLook& process) { return process.state == ProcessState::kGone; };
    FolderLook look = folder_->Look();
    // The thread that waits for ends may not have had a processor yet.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::none_of(look.processes.begin(), look.processes.end(), is_gone) &&
           std::chrono::steady_clock::now() < end) {
      ASSERT_THAT(look.processes, SizeIs(2));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      look = folder_->Look();
    }
    EXPECT_FALSE(look.listing.ok());
    ASSERT_THAT(look.processes, SizeIs(2));
    for (const ProcessLook& process : look.processes) EXPECT_EQ(is_gone(process), process.report.pid == killed);
    SegmentFolder fresh({.folder = segments_.path()});
    EXPECT_THAT(fresh.Look().processes, IsEmpty());
  }
  for (const pid_t pid : {known.pid(), unknown.pid()}) EXPECT_TRUE(std::filesystem::exists(FileOf(pid)));
  const FolderLook look = folder_->Look();
  ASSERT_THAT(look.processes, SizeIs(2));
  for (const ProcessLook& process : look.processes) EXPECT_EQ(process.state, ProcessState::kRunning);
  EXPECT_FALSE(std::filesystem::exists(FileOf(killed)));
  EXPECT_TRUE(std::filesystem::exists(FileOf(known.pid())));
}

// A first look that could not list the folder is none: what was done before the next one stays unreported.
TEST_F(SegmentFolderTest, AFirstLookWithoutDescriptorsTellsNoPast) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens pipes to look at memory";
#endif
  SimulatedProcess process(Options());
  process.Iterate();
  SegmentFolder late({.folder = segments_.path()});
  {
    const NoDescriptors none;
    EXPECT_FALSE(late.Look().listing.ok());
  }
  const FolderLook look = late.Look();
  ASSERT_THAT(look.processes, SizeIs(1));
  EXPECT_THAT(look.processes.front().report.connections, IsEmpty());
}

// A name with blanks and parentheses, as /proc shows it.
TEST(ProcessStatTest, StateAndStartAreFoundBehindAnyName) {
  const auto stat = [](const std::string& text) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.File("12"));
    std::ofstream(folder.File("12/stat")) << text;
    return ReadProcessStat(folder.path(), 12).value();
  };
  const std::string rest = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20\n";  // fields 4 to 23
  EXPECT_EQ(stat("12 (a) R 1 (b)) S" + rest).state, ProcessState::kRunning);
  EXPECT_EQ(stat("12 (a) R 1 (b)) S" + rest).start, 987654u);
  EXPECT_EQ(stat("12 (python3) T" + rest).state, ProcessState::kStopped);
  EXPECT_EQ(stat("12 (python3) t" + rest).state, ProcessState::kStopped);
  EXPECT_EQ(stat("12 (python3) Z" + rest).state, ProcessState::kGone);
  EXPECT_EQ(stat("12 (python3) Z 1 2 3").state, ProcessState::kGone);
}

// Only a missing /proc/PID means that a process is gone.
TEST(ProcessStatTest, WhatCannotBeReadIsUnknown) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadProcessStat(folder.path(), 12).value().state, ProcessState::kGone);
  std::filesystem::create_directories(folder.File("12"));
  for (const char* text : {"12 (python3) S 1 2 3", "", "12 (python3"}) {
    std::ofstream(folder.File("12/stat")) << text;
    EXPECT_EQ(ReadProcessStat(folder.path(), 12).status().code(), StatusCode::kUnavailable) << text;
  }
  std::filesystem::remove(folder.File("12/stat"));
  std::filesystem::create_directories(folder.File("12/stat"));  // opens, and can't be read: EISDIR
  EXPECT_EQ(ReadProcessStat(folder.path(), 12).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace fairlead::service
