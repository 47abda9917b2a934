// For tests of observers of training processes: a separate process that loads the real plugin and executes commands,
// one at a time.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"
#include "ccl/profiler/mock_nccl_example.h"

namespace fairlead::ccl {

struct SimulatedProcessOptions {
  std::string folder;
  std::string job = "gpt";
  int rank = 0;
  int num_ranks = 4;
  bool tells_rank = true;  // in its environment
  uint32_t user = 0;       // that it becomes; 0: the test's
};

// A rank in a ring: receives from the one before, sends to the one behind.
class SimulatedProcess {
 public:
  explicit SimulatedProcess(const SimulatedProcessOptions& options) {
    int commands[2], answers[2];
    FL_CHECK(pipe(commands) == 0 && pipe(answers) == 0);
    fflush(nullptr);  // or the child would write it once more
    pid_ = fork();
    FL_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      close(commands[1]);
      close(answers[0]);
      Run(options, commands[0], answers[1]);
    }
    close(commands[0]);
    close(answers[1]);
    commands_ = Descriptor(commands[1]);
    answers_ = Descriptor(answers[0]);
    Await();  // it has made its segment
  }
  ~SimulatedProcess() { Kill(); }
  SimulatedProcess(SimulatedProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        commands_(std::move(other.commands_)),
        answers_(std::move(other.answers_)) {}
  SimulatedProcess& operator=(SimulatedProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // One whole all-reduce.
  void Iterate() { Do('i'); }
  // Begins to do many of them, and continues beside the test; then it waits until it is killed.
  static constexpr uint64_t kMany = 5000;
  void BeginMany() {
    const char command = 'm';
    FL_CHECK(write(commands_.get(), &command, 1) == 1);
  }
  // Begins an all-reduce and stalls, since nothing arrives that its GPU could pass on.
  void BeginAndWait() { Do('w'); }
  // Begins one and stalls: its GPU neither takes what has arrived, nor fills a buffer.
  void BeginAndStick() { Do('s'); }
  // Ends its communicator and itself.
  void Leave() {
    Do('q');
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void Freeze() {
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  void Do(char command) {
    FL_CHECK(write(commands_.get(), &command, 1) == 1);
    Await();
  }
  void Await() {
    char answer = 0;
    FL_CHECK(read(answers_.get(), &answer, 1) == 1);
  }

  [[noreturn]] static void Run(const SimulatedProcessOptions& options, int commands, int answers) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("FAIRLEAD_SHM_FOLDER", options.folder.c_str(), 1);
    setenv("FAIRLEAD_JOB", options.job.c_str(), 1);
    for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}) unsetenv(name);
    if (options.tells_rank) setenv("RANK", std::to_string(options.rank).c_str(), 1);
    const PluginLibrary library;
    if (options.user != 0) {
      FL_CHECK(setresgid(options.user, options.user, options.user) == 0);
      FL_CHECK(setresuid(options.user, options.user, options.user) == 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // which that has taken back
    }
    MockCommunicator<Version5> nccl(library, 0xabc, options.num_ranks, options.rank);
    const int next = (options.rank + 1) % options.num_ranks;
    const int previous = (options.rank + options.num_ranks - 1) % options.num_ranks;
    FL_CHECK(write(answers, "!", 1) == 1);
    char command = 0;
    uint64_t left = 0;  // of many
    for (uint64_t sequence = 0; left > 0 || read(commands, &command, 1) == 1; ++sequence) {
      if (command == 'q') {
        nccl.Finalize();
        FL_CHECK(write(answers, "!", 1) == 1);
        exit(0);  // with the library's own end
      }
      void* operation = nccl.StartAllReduce(sequence);
      nccl.Stop(operation);
      void* kernel = nccl.StartKernel(operation, 0, 1000 * (sequence + 1));
      void* send = nccl.StartProxyOperation(operation, true, next);
      void* receive = nccl.StartProxyOperation(operation, false, previous);
      if (command == 'm') left = left == 0 ? kMany - 1 : left - 1;
      if (command == 'i' || command == 'm') {
        nccl.Send(send, 0, 1 << 20);
        nccl.Receive(receive, 0, 1 << 20);
        nccl.Stop(send);
        nccl.Stop(receive);
        nccl.Record(kernel, nccl::kKernelChannelStop, 1000 * (sequence + 1) + 500);
        nccl.Stop(kernel);
      } else {
        void* sent = nccl.StartStep(send, 0);
        nccl.Record(sent, nccl::kSendGpuWait);
        nccl.Record(nccl.StartStep(receive, 0), command == 'w' ? nccl::kReceiveWait : nccl::kReceiveGpuWait);
      }
      if (left == 0) FL_CHECK(write(answers, "!", 1) == 1);
    }
    _exit(0);
  }

  pid_t pid_ = 0;
  Descriptor commands_;
  Descriptor answers_;
};

}  // namespace fairlead::ccl
