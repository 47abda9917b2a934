#include "lab/slurm_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "lab/lab_services.h"

namespace fairlead::lab {

namespace {

constexpr uint32_t kManagementAddress = 0xc0a80001;  // 192.168.0.1
// A host's processes share the processors of this machine, whatever Slurm believes.
constexpr uint32_t kNumCpusMin = 4;

std::string ManagementAddressOf(LabNodeId host) {
  return FormatAddress(kManagementAddress + 1 + static_cast<uint32_t>(host.index()));
}

std::vector<LabNodeId> HostsOf(const LabPlan& plan) {
  std::vector<LabNodeId> hosts;
  for (LabNodeId node(0u); node.index() < plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    if (plan.nodes[node].role == NodeRole::kHost && !plan.nodes[node].nics.empty()) hosts.push_back(node);
  }
  return hosts;
}

uint32_t NumGpus(const topology::Fabric& fabric, LabNodeId host) {
  return fabric.num_gpus_of(HostId(static_cast<uint32_t>(host.index())));
}

// Single quotes: what is inside means nothing to a shell.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Configuration(const SlurmSite& site, const LabPlan& plan, const topology::Fabric& fabric) {
  const std::string folder = SlurmFolder(site.lab_folder);
  std::string text = fmt::format(
      R"(ClusterName=lab
SlurmctldHost={machine}({address})
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/run/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=0
KillWait={kill_wait}
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=100000,requeue_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/tree
GresTypes=gpu
PrologFlags=Alloc
PlugStackConfig={folder}/etc/plugstack.conf
JobSubmitPlugins=lua
TaskProlog={folder}/hooks/task-prolog
Prolog={integration}/fairlead-prolog
Epilog={integration}/fairlead-epilog
EpilogSlurmctld={folder}/hooks/job-end
)",
      fmt::arg("machine", site.machine_name), fmt::arg("address", FormatAddress(kManagementAddress)),
      fmt::arg("folder", folder), fmt::arg("integration", site.pieces.integration),
      fmt::arg("kill_wait", kSlurmKillWaitSeconds));
  for (const LabNodeId host : HostsOf(plan)) {
    const uint32_t num_gpus = NumGpus(fabric, host);
    const uint32_t num_cpus = std::max(kNumCpusMin, num_gpus);
    text += fmt::format("NodeName={} NodeAddr={} CPUs={} CoresPerSocket={} RealMemory=1000 Gres=gpu:{} State=UNKNOWN\n",
                        plan.nodes[host].name, ManagementAddressOf(host), num_cpus, num_cpus, num_gpus);
  }
  return text + fmt::format("PartitionName={} Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n", kSlurmPartition);
}

// A host with ports at several leaves is under the first of them.
std::string Topology(const LabPlan& plan) {
  std::map<LabNodeId, std::vector<std::string>> hosts_of_leaf;
  for (const LabNodeId host : HostsOf(plan)) {
    const LabCable& cable = plan.cables[plan.nodes[host].cables.front()];
    hosts_of_leaf[cable.ends[1 - EndAt(plan, plan.nodes[host].cables.front(), host)].node].push_back(
        plan.nodes[host].name);
  }
  std::string text;
  std::vector<std::string> leaves;
  for (const auto& [leaf, hosts] : hosts_of_leaf) {
    text += fmt::format("SwitchName={} Nodes={}\n", plan.nodes[leaf].name, fmt::join(hosts, ","));
    leaves.push_back(plan.nodes[leaf].name);
  }
  return text + fmt::format("SwitchName=fabric Switches={}\n", fmt::join(leaves, ","));
}

// The keeper is process 1 in the lab, and has another number outside.
std::string ProgramText(const SlurmSite& site, const LabPlan& plan, std::string_view name) {
  return fmt::format(
      R"(#!/bin/bash
# {0} of the Slurm of lab '{1}', from anywhere on this machine.
export SLURM_CONF={2}/etc/slurm.conf PATH="${{PATH//"{2}/bin:"/}}:/usr/bin:/bin"
for keeper in 1 {3}; do
  [[ $(cat /proc/$keeper/comm 2>/dev/null) == fairlead-lab ]] && exec nsenter --net=/proc/$keeper/fd/{4} {0} "$@"
done
echo "{0}: lab '{1}' is down" >&2
exit 3
)",
      name, site.lab_name, SlurmFolder(site.lab_folder), site.keeper.pid,
      site.keeper.namespaces[ManagementNetwork(plan).index()]);
}

std::string TaskProlog(const std::string& lab_folder) {
  return fmt::format(
      R"(#!/bin/bash
# TaskProlog: each host of a lab has an agent, a folder of segments and GPUs of its own, on a machine that has one of each.
[[ ${{FAIRLEAD_MODE:-off}} != off ]] || exit 0
echo "export FAIRLEAD_SHM_FOLDER={0}/segments/$SLURMD_NODENAME"
echo "export FAIRLEAD_GPU_COUNTERS={0}/gpus/$SLURMD_NODENAME"
echo "export FAIRLEAD_AGENT_SOCKET={0}/agents/$SLURMD_NODENAME.sock"
# Processors are shared.
echo "export FAIRLEAD_STEER_DEADLINE_MS=500"
)",
      lab_folder);
}

// The controller's page is in the network of the machine.
std::string JobEnd(const SlurmSite& site) {
  return fmt::format(
      R"(#!/bin/bash
# EpilogSlurmctld: fairlead-job-end, in the network where the controller's page is.
export FAIRLEAD_CONTROLLER FAIRLEAD_END_S={} FAIRLEAD_SLURM_SETTINGS=/dev/null PATH=/usr/sbin:/usr/bin:/sbin:/bin
FAIRLEAD_CONTROLLER=$(cat {}/page 2>/dev/null) || exit 0
for process in /proc/[0-9]*; do
  [[ $(cat "$process/comm" 2>/dev/null) == fairlead-contro ]] || continue
  exec nsenter --net="$process/ns/net" {}/fairlead-job-end
done
exit 0
)",
      kSlurmKillWaitSeconds + 2, SlurmFolder(site.lab_folder), Quoted(site.pieces.integration));
}

std::string PlugStack(const SlurmSite& site) {
  if (site.pieces.spank_plugin.empty()) return "";
  return fmt::format("optional {} folder=/dev/shm mode=on steer={} profiler={}\n", site.pieces.spank_plugin,
                     site.pieces.steering_library, site.pieces.profiler_plugin);
}

std::string JobSubmit(const SlurmSite& site) {
  return fmt::format(
      R"(local fairlead = dofile("{}/fairlead_jobs.lua")
fairlead.alive_file = "{}/alive"
function slurm_job_submit(job, parts, user)
  fairlead.submit(job, parts)
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, parts, user) return slurm.SUCCESS end
return slurm.SUCCESS
)",
      site.pieces.integration, SlurmFolder(site.lab_folder));
}

std::string TrainScript(const SlurmSite& site, double scale) {
  return fmt::format(
      R"SH(#!/bin/bash
#SBATCH --ntasks-per-node=1 --exclusive --open-mode=append --signal=B:USR1@60 --output=/dev/null
# Trains a job of the lab's scenario on the hosts that Slurm has given, from its checkpoint on, over the lab's network.
#
#   {folder}/bin/sbatch -N 2-6 --comment='{{"fairlead": {{"steps": 90, "progress": "WORK/JOB/steps",
#     "checkpoint": "WORK/JOB/checkpoint"}}}}' {folder}/train.sh JOB       WORK: {folder}/work
#
# EVERY=10 in its environment: a checkpoint after each tenth iteration, too, and not only when SIGUSR1 asks for one.
job=$1 work=${{WORK:-{folder}/work}}/$1
run=$work/run${{SLURM_RESTART_COUNT:-0}}
mkdir -p "$run"
hosts=$(scontrol show hostnames | paste -sd,)
# The signal is for worker 0; the script only passes it on.
trap 'scancel --signal=USR1 "$SLURM_JOB_ID"' USR1
{lab} plan {scenario} "$job" --scale {scale} --hosts "$hosts" --into "$run" --checkpoint "$work/checkpoint" \
  --checkpoint-every "${{EVERY:-10}}" --progress "$work/steps" >>"$run/log" 2>&1 || exit 1
# A signal that comes before a trainer is there must not end it.
(srun --output="$run/%t.jsonl" --error="$run/%t.log" bash -c "trap '' USR1
export FAIRLEAD_TRAINER_CONTROL='$run'/\$SLURM_PROCID.control
exec {trainer} \${{NCCL_PROFILER_PLUGIN:+--ccl=plugin}} '$run'/\$SLURM_PROCID.json" 2>>"$run/log"
echo $? >"$run/exit") &
# The signal interrupts it.
while kill -0 $! 2>/dev/null; do wait $!; done
exit "$(cat "$run/exit" || echo 1)"
)SH",
      fmt::arg("folder", SlurmFolder(site.lab_folder)), fmt::arg("lab", Quoted(site.pieces.lab_program)),
      fmt::arg("scenario", Quoted(site.scenario)), fmt::arg("scale", fmt::format("{:g}", scale)),
      fmt::arg("trainer", site.pieces.trainer));
}

}  // namespace

std::string SlurmFolder(const std::string& lab_folder) { return lab_folder + "/slurm"; }

std::string SlurmProgram(const std::string& lab_folder, std::string_view name) {
  return fmt::format("{}/bin/{}", SlurmFolder(lab_folder), name);
}

std::vector<SlurmFile> SlurmFilesOf(const SlurmSite& site, const LabPlan& plan, const topology::Fabric& fabric) {
  std::string gpus;
  std::vector<SlurmFile> files;
  for (const LabNodeId host : HostsOf(plan)) {
    const std::string& name = plan.nodes[host].name;
    const uint32_t num_gpus = NumGpus(fabric, host);
    for (uint32_t g = 0; g < num_gpus; ++g) files.push_back({.path = fmt::format("gpus/{}-{}", name, g), .text = ""});
    if (num_gpus == 0) continue;
    gpus += fmt::format("NodeName={0} Name=gpu File={1}/gpus/{0}-[0-{2}]\n", name, SlurmFolder(site.lab_folder),
                        num_gpus - 1);
  }
  files.push_back({.path = "etc/slurm.conf", .text = Configuration(site, plan, fabric)});
  files.push_back({.path = "etc/topology.conf", .text = Topology(plan)});
  files.push_back({.path = "etc/gres.conf", .text = gpus});
  files.push_back({.path = "etc/cgroup.conf", .text = "CgroupPlugin=cgroup/v1\n"});
  files.push_back({.path = "etc/plugstack.conf", .text = PlugStack(site)});
  files.push_back({.path = "etc/job_submit.lua", .text = JobSubmit(site)});
  files.push_back({.path = "hooks/task-prolog", .text = TaskProlog(site.lab_folder), .is_program = true});
  files.push_back({.path = "hooks/job-end", .text = JobEnd(site), .is_program = true});
  files.push_back({.path = "train.sh", .text = TrainScript(site, plan.options.scale), .is_program = true});
  for (const std::string_view name : {"salloc", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"}) {
    files.push_back({.path = fmt::format("bin/{}", name), .text = ProgramText(site, plan, name), .is_program = true});
  }
  return files;
}

std::string ManagementCommands(const LabPlan& plan, const KeeperId& keeper) {
  const std::string own = FormatAddress(kManagementAddress);
  std::string text = fmt::format("link set lo up\naddr add {}/32 dev lo\n", own);
  for (const LabNodeId host : HostsOf(plan)) {
    text += fmt::format("link add name to{0} type veth peer name manage0 netns {1}\nlink set to{0} up\n", host.index(),
                        NetworkNamespacePath(keeper, host));
    text += fmt::format("route add {}/32 dev to{} src {}\n", ManagementAddressOf(host), host.index(), own);
  }
  return text;
}

std::string ManagementHostCommands(LabNodeId host) {
  const std::string own = ManagementAddressOf(host);
  const std::string controller = FormatAddress(kManagementAddress);
  return fmt::format(
      "link set manage0 up\naddr add {0}/32 dev manage0\nroute add {1}/32 dev manage0 src {0}\n"
      "route add 192.168.0.0/16 via {1} dev manage0 src {0}\n",
      own, controller);
}

}  // namespace fairlead::lab
