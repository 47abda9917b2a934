// The files of a lab's Slurm, as text: configuration, programs that lead into its network, what each task gets.
//
//     RUN/NAME/slurm/etc/      slurm.conf, topology.conf, gres.conf, cgroup.conf, plugstack.conf, job_submit.lua,
//                              munge.key
//     RUN/NAME/slurm/bin/      sbatch, squeue, scontrol, …: those of the machine, in the lab's management network
//     RUN/NAME/slurm/hooks/    task-prolog, job-end
//     RUN/NAME/slurm/gpus/     one file for each GPU
//     RUN/NAME/slurm/log/      of its daemons; spool/, state/, run/: theirs
//     RUN/NAME/slurm/train.sh  a job of the lab's scenario, to be submitted
//     RUN/NAME/slurm/work/     what jobs write
//     RUN/NAME/slurm/alive     the controller is there
//
// Management network  192.168.0.1 is Slurm's controller, 192.168.h.h a host: 192.168.0.0 + 2 + host. It is not
//                     shaped, no cable of the lab carries it, and it is joined to nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/keeper.h"
#include "lab/lab_plan.h"
#include "topology/fabric.h"

namespace fairlead::lab {

// The partition with all hosts.
inline constexpr std::string_view kSlurmPartition = "train";
// The reservation that keeps spares free; none where no host is spare.
inline constexpr std::string_view kSlurmSpares = "fairlead_spares";
// From SIGTERM to SIGKILL. Trainers end at once.
inline constexpr int kSlurmKillWaitSeconds = 3;

// Paths of what Slurm loads and runs; all exist.
struct SlurmPieces {
  std::string integration;   // the folder integrations/slurm
  std::string spank_plugin;  // empty: none is there, so jobs are neither watched nor steered
  std::string steering_library;
  std::string profiler_plugin;
  std::string lab_program;  // fairlead-lab
  std::string trainer;
};

// What the text is about.
struct SlurmSite {
  std::string lab_name;
  std::string lab_folder;    // absolute
  std::string scenario;      // absolute; the file of the lab
  std::string machine_name;  // this machine's host name
  KeeperId keeper;
  SlurmPieces pieces;
};

std::string SlurmFolder(const std::string& lab_folder);
// "RUN/NAME/slurm/bin/squeue".
std::string SlurmProgram(const std::string& lab_folder, std::string_view name);

// A file of the Slurm; `path` is relative to SlurmFolder().
struct SlurmFile {
  std::string path;
  std::string text;
  bool is_program = false;
};

// Args: fabric: the one that `plan` was made of. Hosts are the plan's first nodes.
std::vector<SlurmFile> SlurmFilesOf(const SlurmSite& site, const LabPlan& plan, const topology::Fabric& fabric);

// The lines for `ip -batch`, run in the management network, that join all hosts to it, and those for each host's
// namespace.
std::string ManagementCommands(const LabPlan& plan, const KeeperId& keeper);
std::string ManagementHostCommands(LabNodeId host);

}  // namespace fairlead::lab
