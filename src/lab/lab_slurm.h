// A real Slurm in a lab: each host of the lab is a node of it, with its own slurmd in the host's namespace.
//
//     munged, slurmctld, slurmrestd     in the management network (slurm_files.h), which all hosts are joined to
//     slurmd -N h0, h1, …               in the hosts' namespaces: what jobs start there talks over the lab's fabric
//     controller                        --engine slurm, in the network of this machine, with the programs of slurm/bin
//
// All of them are processes of the lab and end with it, whatever ends it.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_services.h"
#include "lab/lab_state.h"
#include "lab/slurm_files.h"
#include "topology/fabric.h"

namespace fairlead::lab {

// Why there can be no Slurm in a lab here, and what to do: programs that are missing, or a user who is not root.
// Errors: kFailedPrecondition.
Status CheckSlurm();

// The pieces of Fairlead that Slurm needs. Args: integration: the folder integrations/slurm of this installation.
// Errors: kNotFound: what is missing.
Result<SlurmPieces> FindSlurmPieces(const std::string& integration);

struct SlurmStartOptions {
  SlurmPieces pieces;
  std::vector<std::string> spares = {};  // hosts that only Fairlead gives to jobs
};

// Starts Slurm and waits until all of its nodes are idle. Before StartServices(), whose controller is to know it.
// Args: lab_folder: absolute. Errors: kFailedPrecondition: CheckSlurm(); kUnavailable: a daemon did not answer in
// time, with the end of its log; kCancelled: `stop` turned true. What was started ends with the lab.
Status StartSlurm(const LabState& state, const topology::Fabric& fabric, const std::string& lab_folder,
                  const SlurmStartOptions& options, const std::atomic<bool>& stop);

// Whether a Slurm was started there.
bool HasSlurm(const std::string& lab_folder);

// What the controller is started with so that it chooses the sizes of elastic jobs and replaces their hosts. Args:
// http: the address of its page.
void AddSlurmToServices(const std::string& lab_folder, const std::vector<std::string>& spares,
                        LabServicesOptions* options);

// Waits until the controller has read Slurm: elastic jobs that are submitted then are its own. Errors: kUnavailable:
// not in time, with the end of its log; kCancelled: `stop` turned true.
Status WaitForSlurmEngine(const std::string& lab_folder, const std::atomic<bool>& stop);

// A program of Slurm, run in its network: standard output. Args: command: variables (NAME=VALUE), program, arguments.
// Errors: kUnavailable: it failed, and what it said.
Result<std::string> RunSlurmProgram(const LabState& state, const std::string& lab_folder,
                                    std::vector<std::string> command);

}  // namespace fairlead::lab
