// What `fairlead top` shows, and what its keys do: a picture of text for each state of the cluster, without a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/cluster/cluster_report.h"

namespace fairlead::cli {

enum class TopView { kJobs, kFindings, kLinks, kHosts };

class TopScreen {
 public:
  // A byte from the keyboard, or one of the keys that are several bytes.
  enum Key : int { kUp = 1000, kDown, kPageUp, kPageDown, kEscape };

  // False: the user wants to leave.
  bool Press(int key);

  // Which lists the next picture needs.
  bool needs_links() const { return view_ == TopView::kLinks; }
  bool needs_hosts() const { return view_ == TopView::kHosts; }
  // The job that is to be described instead of a list; empty: none.
  const std::string& described_job() const { return described_job_; }

  // At most `height` lines of at most `width` columns, each with a line break; no escapes.
  // Args: description: of described_job(), where there is one.
  std::string Render(const ClusterState& state, const report::Document& description, size_t width, size_t height);

 private:
  enum class Order { kLoss, kName, kSlowdown, kGpus };

  void Show(TopView view);
  void Sort(std::vector<wire::LiveJob>* jobs) const;
  report::Document Table(const ClusterState& state);

  TopView view_ = TopView::kJobs;
  Order order_ = Order::kLoss;
  size_t row_ = 0;                      // selected, of jobs; first shown, of other lists
  std::vector<std::string> job_names_;  // [row] as shown last
  std::string described_job_;
};

}  // namespace fairlead::cli
