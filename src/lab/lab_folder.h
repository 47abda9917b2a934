// Where labs are remembered: one folder each, below the run folder of the user.
//
//     RUN/NAME/lab.json   state; written when the lab is up, replaced whole
//     RUN/NAME/hosts      names and addresses of its hosts, as /etc/hosts
//     RUN/NAME/lock       held by a command that changes the lab
//     RUN/NAME/jobs.lock  held by `lab run`
//     RUN/NAME/jobs/      what `lab run` writes; from the last run
//     RUN/NAME/…          of the lab's controller and agents, see lab_services.h
//
// The run folder is $FAIRLEAD_LAB_DIR, else /run/fairlead/lab for root, else $XDG_RUNTIME_DIR/fairlead/lab, else
// /tmp/fairlead-UID/lab; none survives a reboot, as no lab does.
#pragma once

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "lab/lab_state.h"

namespace fairlead::lab {

std::string DefaultRunFolder();

class LabFolder {
 public:
  // Makes the folder where it is missing, readable for no other user, and takes the lock. Errors: kInvalidArgument: a
  // name that is not made of at most 40 letters, digits, '-' and '_'; kFailedPrecondition: not writable, or belongs to
  // another user; kUnavailable: another command is changing this lab.
  static Result<LabFolder> Open(const std::string& run_folder, const std::string& name);
  // The same with a separate lock, held while jobs run: meanwhile cables can be cut and the lab can be taken down, but
  // no other jobs be started.
  static Result<LabFolder> OpenForJobs(const std::string& run_folder, const std::string& name);
  // For looking only: nothing is made or locked. Errors: kNotFound: no lab of this name is up here.
  static Result<LabState> Look(const std::string& run_folder, const std::string& name);
  // Names of labs with a state, in order.
  static std::vector<std::string> List(const std::string& run_folder);

  // Errors: kNotFound: there is no state; kInvalidArgument: it can't be read.
  Result<LabState> Load() const;
  // The process of the lab alone, which can be read even where another version of Fairlead has written the state.
  Result<KeeperId> LoadKeeper() const;
  Status Save(const LabState& state) const;
  // Forgets the lab: state, jobs, folder.
  Status Remove() const;

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }  // absolute
  // As /etc/hosts: the names of the lab's hosts. Absolute.
  std::string HostsFile() const { return path_ + "/hosts"; }
  static std::string HostsFileOf(const std::string& run_folder, const std::string& name);
  std::string JobsFolder() const { return path_ + "/jobs"; }

 private:
  LabFolder() = default;
  static Result<LabFolder> OpenWith(const std::string& run_folder, const std::string& name,
                                    const std::string& lock_name, const std::string& who);

  std::string name_;
  std::string path_;
  Descriptor lock_;
};

}  // namespace fairlead::lab
