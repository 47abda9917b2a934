// What switches and operators report of links: passed on to the path service, and kept over a restart.
//
// Guarantees  a report of a link that is less than whole is kept until it is reported whole. One of a link that the
//             fabric has no more is dropped with a note.
#pragma once

#include <map>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "controller/path_batch.h"
#include "controller/traffic_outputs.h"
#include "topology/fabric.h"

namespace fairlead::controller {

class LinkReports {
 public:
  // The references must outlive this.
  LinkReports(const topology::Fabric& fabric, PathBatch* batch, TrafficOutputs* outputs)
      : fabric_(fabric), batch_(batch), outputs_(outputs) {}

  void Take(const LinkHealthReported& report);
  // Takes up a record that an earlier controller has kept; those of others are ignored. The path service learns of it
  // with the first batch.
  // Errors: kDataLoss: it can't be read, naming its key.
  Status Restore(const std::string& key, const std::string& value);

 private:
  void Keep(const LinkHealthReported& report);

  const topology::Fabric& fabric_;
  PathBatch* batch_;
  TrafficOutputs* outputs_;
  std::map<LinkId, double> reported_;  // health, of those that are less than whole
};

}  // namespace fairlead::controller
