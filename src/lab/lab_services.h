// The controller and the agents of a lab: programs of Fairlead that run in it as they would on a cluster.
//
//     RUN/NAME/fabric.yaml        the fabric that the lab was made of, at the speeds of the lab
//     RUN/NAME/addresses.json     the NIC and the link of each address
//     RUN/NAME/controller.sock    where agents find the controller: files are not divided by networks, so this is the
//                                 management network of the lab; controller.log, controller.sqlite
//     RUN/NAME/page               address of the controller's page; absent: it has none
//     RUN/NAME/agents/HOST.sock   where the processes of a host find its agent; HOST.log, HOST.state
//     RUN/NAME/gpus/HOST/         counters of the GPUs that trainers play
//     RUN/NAME/segments/HOST/     segments of the profiler plugin: as /dev/shm of that host
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_state.h"
#include "topology/fabric.h"

namespace fairlead::lab {

struct LabServicesOptions {
  std::string http;  // address of the controller's page, "127.0.0.1:8480"; empty: none
  std::vector<std::string> controller_arguments = {};  // more of them
  std::string path = {};  // a folder in which the controller looks for programs first; empty: none
};

std::string AgentSocket(const std::string& lab_folder, const std::string& host);
std::string SegmentFolder(const std::string& lab_folder, const std::string& host);
std::string GpuFolder(const std::string& lab_folder, const std::string& host);
// "127.0.0.1:8480"; empty: the controller has no page, or the lab has no controller.
std::string PageOf(const std::string& lab_folder);
// Whether the lab has been given its services.
bool HasServices(const std::string& lab_folder);

// Starts the controller in the network of this machine and an agent in each host; waits until all of them answer.
// Args: fabric: the one that the lab was planned from; lab_folder: of the lab, absolute.
// Errors: kNotFound: a program is missing; kUnavailable: one did not answer in time, with the end of its log;
// kCancelled: `stop` turned true. What was started ends with the lab.
Status StartServices(const LabState& state, const topology::Fabric& fabric, const std::string& lab_folder,
                     const LabServicesOptions& options, const std::atomic<bool>& stop);

}  // namespace fairlead::lab
