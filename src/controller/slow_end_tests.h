// Tests of which end of a connection is slow (node_check/slow_end.h), for the diagnosis.
//
// Method      bystanders are hosts of the job that hangs, which are idle, then free ones; each with a NIC of the same
//             place. Tests run at full speed although jobs are there: what is asked about hangs.
// Guarantees  each question is answered once; at once, and as undecided, where it can't be tested.
// Cost        O(hosts) for a question.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/host_test_runs.h"
#include "controller/job_table.h"
#include "controller/slow_end_question.h"
#include "controller/traffic_outputs.h"
#include "controller/transfer_plan_run.h"
#include "topology/address_book.h"
#include "topology/fabric.h"

namespace fairlead::controller {

class SlowEndTests {
 public:
  // The references must outlive this.
  SlowEndTests(const topology::Fabric& fabric, const topology::AddressBook& addresses, const JobTable& jobs,
               HostTestRuns* tests, TrafficOutputs* outputs)
      : fabric_(fabric), addresses_(addresses), jobs_(jobs), tests_(tests), outputs_(outputs) {}

  void Ask(SimTime now, const SlowEndQuestion& question);
  void Take(SimTime now, const HostTestRuns::Ended& ended);
  // Answers what is decided.
  void AnswerFinished();

 private:
  struct Search {
    SlowEndQuestion question;
    node_check::SlowEndSearch* plan;  // of the run
    TransferPlanRun run;
    std::vector<HostId> hosts;  // reserved
  };

  // Its address at the place that `like` has on its own host, or its first one; nothing: it can't be tested.
  std::optional<TestedHost> FindHost(HostId host, NicId like) const;
  std::vector<HostId> FindBystanders(const SlowEndQuestion& question) const;
  void Answer(const SlowEndQuestion& question, const SlowEndAnswer& answer);

  const topology::Fabric& fabric_;
  const topology::AddressBook& addresses_;
  const JobTable& jobs_;
  HostTestRuns* tests_;
  TrafficOutputs* outputs_;
  std::list<Search> searches_;
};

}  // namespace fairlead::controller
