#include "slurm/node_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "model/job_name.h"
#include "slurm/host_list.h"
#include "topology/import/foreign_network.h"

namespace fairlead::slurm {

Status CheckHostNames(const topology::Fabric& fabric, std::string_view origin) {
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    const std::string name = fabric.HostName(HostId(h));
    if (IsListName(name)) continue;
    return InvalidArgument(
        fmt::format("{}: host '{}': expected a name of letters, digits, '-', '_' and '.', which Slurm can read; name "
                    "hosts in the fabric as in slurm.conf (NodeName)",
                    model::PrintableText(origin), model::PrintableText(name)));
  }
  return OkStatus();
}

std::vector<HostId> HostsInOrder(const topology::Fabric& fabric) {
  std::vector<HostId> hosts;
  for (size_t h = 0; h < fabric.num_hosts(); ++h) hosts.emplace_back(h);
  std::ranges::sort(
      hosts, [&fabric](HostId a, HostId b) { return topology::NaturalLess(fabric.HostName(a), fabric.HostName(b)); });
  return hosts;
}

Result<std::string> WriteNodeConf(const topology::Fabric& fabric, std::string_view origin) {
  FL_RETURN_IF_ERROR(CheckHostNames(fabric, origin));
  std::map<uint32_t, std::vector<std::string>, std::greater<>> by_gpus;
  std::vector<std::string> all;
  for (const HostId host : HostsInOrder(fabric)) {
    by_gpus[fabric.num_gpus_of(host)].push_back(fabric.HostName(host));
    all.push_back(fabric.HostName(host));
  }
  std::string text = fmt::format(
      "# Lines for slurm.conf: the hosts of {}, by `fairlead fabric export slurm --nodes`.\n"
      "# What the fabric does not know: put what `slurmd -C` prints on a host into a line before these,\n"
      "#     NodeName=DEFAULT CPUs=... RealMemory=...\n"
      "# and the GPUs into gres.conf of each host: AutoDetect=nvml, or Name=gpu File=/dev/nvidia[0-...]\n"
      "GresTypes=gpu\n",
      model::PrintableText(origin));
  for (const auto& [num_gpus, hosts] : by_gpus) {
    const std::string gres = num_gpus > 0 ? fmt::format(" Gres=gpu:{}", num_gpus) : "";
    text += fmt::format("NodeName={}{} State=UNKNOWN\n", CompressHosts(hosts), gres);
  }
  return text + fmt::format("PartitionName=train Nodes={} Default=YES MaxTime=INFINITE State=UP\n", CompressHosts(all));
}

}  // namespace fairlead::slurm
