// The training processes of this host, as far as the profiler plugin is loaded into them: finds their segments
// (FOLDER/fairlead-PID or FOLDER/fairlead-PID.SUFFIX, shm/profiler_segment.h), looks at them, and takes away those of
// processes that have ended.
//
// Problem     a process may be running, stopped or dead, and its last activity is wanted in each case; its number may
//             have been given to another one since; the file is written by the user of the job, and may contain
//             anything.
// Method      a file is read with pread(), never mapped: a mapped file that is cut short would end the agent with
//             SIGBUS, one that is read ends early, which is an error like any other. It has to be a regular file of the
//             right size, reached through no link, and to belong to the process's user. It is kept open, so that a
//             process that takes its file away at its end has its last look, too. /proc/PID/stat tells the process's
//             state, and by its start whether it is the one that wrote the file. That is asked before the file is read:
//             of a process that has ended, everything is. Its end, and when that was, is what the kernel tells of it
//             (exit_watch.h); where it can't be watched, what /proc says, some time since the look before. Which job it
//             is of: the name in the file, with what the kernel says of the process when it is first seen
//             (process_owner.h). Only what may be a segment is looked at: a regular file of that size, under one name
//             for each process; of each user so many, of all so many as there are descriptors for (file_quotas.h), and
//             so much of what they tell. What tells more is left out for a while.
// Cost        a look: at most some 530 calls of pread() and 5 MiB copied for each process, if its tables are full.
//             Where /proc can't be read, a process is what it was at the look before, and one that was not known is
//             left for the next look.
// Guarantees  no content of the folder or of a file ends the agent or makes it wait. A file is removed only when the
//             process that wrote it has ended, after a last look at it; never by a mere reader. That it has ended is
//             shown by the kernel's word, by another start time or a zombie, or by a missing /proc/PID where no signal
//             can be sent to it either; a failed query, or a process that /proc hides, shows nothing.
// Limits      processes are known by their numbers in this agent's namespace of processes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "model/telemetry.h"
#include "service/agent/exit_watch.h"
#include "service/agent/process_owner.h"
#include "service/agent/thread_groups.h"
#include "telemetry/process_report.h"
#include "telemetry/segment_tracker.h"

namespace fairlead::service {

using ProcessLook = telemetry::SeenProcess;

// A file that is no segment, or can't be read.
struct SegmentFault {
  std::string path;
  std::string reason;
};

struct FolderLook {
  SimTime at;                          // on the host's clock, as reports have it
  Status listing;                      // of the folder; where it fails, only processes known before are reported
  std::vector<ProcessLook> processes;  // ascending process numbers; one that has ended is listed once more
  std::vector<SegmentFault> faults;    // ascending paths
};

struct SegmentFolderOptions {
  std::string folder = "/dev/shm";
  std::string proc_folder = "/proc";
  // Files of one user that are looked at; > 0. Larger: more ranks of one user on a host; smaller: less work that one
  // user can make.
  uint32_t num_per_user_max = 512;
  // Files of all users; less where the process may not have that many descriptors. > 0.
  uint32_t num_max = 4096;
  // Records of all processes in one look, shared by the users that have many; > 0. Larger: more memory that files with
  // full tables can take, some 300 bytes for each.
  uint64_t num_records_max = 400'000;
  // Threads whose place is read in one look, of one user and of all; > 0. Larger: places of stuck processes are known
  // sooner; smaller: less work that one user can make.
  uint32_t num_threads_per_user_max = 256;
  uint32_t num_threads_max = 1024;
  // Beside the agent: the first look tells all that a segment remembers, and no file is taken away.
  bool only_looks = false;
};

// As /proc says. `start` is field 22 of /proc/PID/stat, 0 for a process that is gone. Zombies are gone.
struct ProcessStat {
  model::ProcessState state = model::ProcessState::kGone;
  uint64_t start = 0;
  bool is_listed = false;  // there is a file
};
// Only a missing file (ENOENT, ESRCH) says that a process is gone. Errors: kUnavailable: nothing is known of it, as
// where this process has no descriptor left, or no right to look; the caller changes nothing.
Result<ProcessStat> ReadProcessStat(const std::string& proc_folder, int32_t pid);

class SegmentFolder {
 public:
  explicit SegmentFolder(const SegmentFolderOptions& options);
  SegmentFolder(SegmentFolder&&) = default;
  SegmentFolder& operator=(SegmentFolder&&) = delete;  // processes would outlive the watch over their ends

  // Looks at all processes. Activity before the first look is reported only for processes that start later.
  FolderLook Look();

 private:
  struct Process {
    Descriptor file;
    uint64_t inode = 0;
    uint32_t user = 0;                                          // whom the file belongs to
    std::string job;                                            // its key; empty: not known yet
    bool has_ended = false;                                     // its file can't be taken away
    model::ProcessState state = model::ProcessState::kRunning;  // as last known
    WatchedExit exit;
    std::optional<SimTime> last_alive;  // when that was last known for sure
    std::optional<telemetry::SegmentTracker> tracker;
    SimTime left_out_until;
    Stillness stillness;
  };
  struct Records {
    uint64_t latest = 0;   // in the look before
    uint64_t now = 0;      // in this one, so far
    uint32_t threads = 0;  // read in this one
  };

  using FileName = std::pair<int32_t, std::string>;  // number of the process, and the name in the folder

  Result<std::set<FileName>> ListFiles(std::vector<SegmentFault>* faults) const;
  // Whether the process's records are too many beside those of its user; it is left out then.
  bool IsTooMuch(const Process& process, const telemetry::ProcessReport& report);
  // Where its threads are, if it has done nothing for a while.
  void AddThreads(int32_t pid, Process* process, telemetry::ProcessReport* report);
  std::string PathOf(const FileName& file) const;
  Status Open(const FileName& file, Process* process) const;
  // Inode of the file of that name; 0: nothing; none: the query failed.
  std::optional<uint64_t> InodeOf(const FileName& file) const;
  // Whether what /proc says of a process that was known shows that it has ended.
  bool HasEnded(int32_t pid, const ProcessStat& stat, const Process& process);
  // What is known of its state by now, where that is anything.
  void NoteState(int32_t pid, uint64_t file_start, const Result<ProcessStat>& stat, SimTime now, Process* process);
  model::ProcessExit ExitOf(const Process& process, SimTime now) const;
  // Returns whether the process is to be forgotten.
  bool LookAt(const FileName& file, Process* process, FolderLook* look);

  SegmentFolderOptions options_;
  JobIdentifier jobs_;
  // CLOCK_REALTIME - CLOCK_MONOTONIC at the start; the same for all, so that steps of the wall clock tear nothing
  // apart.
  SimDuration clock_offset_;
  bool has_looked_ = false;
  int64_t patience_ms_ = 0;           // of this look, for what the kernel is about to tell
  uint32_t num_threads_ = 0;          // read in this look
  std::unique_ptr<ExitWatch> exits_;  // none where it only looks
  std::map<FileName, Process> processes_;
  std::map<uint32_t, Records> records_;  // [user]
};

}  // namespace fairlead::service
