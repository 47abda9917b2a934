// One finding with its proof, as text and as a page: the same from a running controller and from a recording.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/html_page.h"
#include "wire/finding_detail.h"

namespace fairlead::cli {

// How instants are shown: "2026-11-24 12:34:56" of seconds since 1970, or "1 min 3 s" of those since a recording began.
using MomentText = std::function<std::string(double seconds)>;

// Facts, evidence, candidates, iterations, who waits for whom, slow transfers, history and next commands, each where
// there is any. Lines fit report::kTextWidth.
report::Document DescribeFinding(const wire::FindingDetail& detail, const MomentText& moment);

// The figures of its proof: iterations, the accused against its like, waits, transfers; each where there is any.
std::vector<report::PageFigure> DrawProof(const wire::FindingDetail& detail);

// A section of those that it may be, with what speaks for each; empty where there are none. Args: heading: "h2", "h3".
std::string RenderCandidates(const wire::FindingDetail& detail, const char* heading);

// The command, and what it shows, as markup.
std::string RenderStep(const wire::NextStep& step);

// A self-contained page. Args: source: a sentence on where it comes from.
std::string RenderFindingPage(const wire::FindingDetail& detail, const MomentText& moment, const std::string& source);

}  // namespace fairlead::cli
