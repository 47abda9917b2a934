// The result of `fairlead sim run --html`: one page for people who did not run it.
//
// Self-contained: nothing from elsewhere, so that it can be mailed and still reads in ten years (html_page.h).
// Light and dark by the reader's setting, and on paper.
#pragma once

#include <span>
#include <string>

#include "sim/outside_events.h"
#include "sim/run_result.h"
#include "topology/fabric.h"

namespace fairlead::report {

struct HtmlOptions {
  // The command that made the report, shown under "How to reproduce"; empty: only seeds and hashes are shown.
  std::string command;
  // That of the scenario, for the picture of the network; null: there is none. Must outlive the call only.
  const topology::Fabric* fabric = nullptr;
  // Of the scenario, in any order: marked on axes of time where there is a fabric.
  std::span<const sim::LinkEvent> link_events = {};
};

// Headline numbers, table of policies, why they differ, figures (page_figures.h), table of jobs, assumptions, how to
// reproduce. Every name is escaped. Cost: page size grows with links and jobs; about 1.5 MB for 2,000 links and 500
// jobs.
std::string RenderHtml(const sim::SimulationReport& report, const HtmlOptions& options = {});

}  // namespace fairlead::report
