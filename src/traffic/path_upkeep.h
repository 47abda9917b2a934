// Path upkeep: running jobs stay on their paths when others come and go.
//
// Problem     path_selection.h lets all jobs choose anew, and one newcomer turns the choices of nearly all behind it:
//             848 of 1,000 jobs got other paths after one arrival. To choose them all takes long, and a running job
//             that changes its paths has its packets reordered.
// Method      the jobs take turns as there. One whose paths in force are all still among its candidates stays on them;
//             but for the first max_moved_jobs whose worst link gets less congested, by more than the hysteresis, when
//             they are taken off their links and placed again. Jobs without paths are placed, and so are flows whose
//             path has died. Jobs that stay count a millionth before it is their turn: among ways that are as good for
//             the job at hand, those that others don't use are taken.
// Guarantees  all paths are candidates. Jobs whose paths all live change none of them, but for max_moved_jobs of them.
//             With memory the same comes out as without.
// Differs     ours; the Crux paper lets all jobs choose at every event.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "traffic/path_selection.h"

namespace fairlead::traffic {

// Args: as of SelectPaths; options.max_moved_jobs has a value. loads: null, or what receives the loads of all links.
// Returns: [request] -> [flow]; nothing: all paths in force stay.
// Cost: O(links of all paths in force), and those of SelectPaths for jobs that are placed or tried to be moved; without
// memory also to list the candidates of all jobs. See BM_OneArrival.
std::vector<std::optional<std::vector<model::Path>>> KeepPaths(std::span<const PathRequest> requests,
                                                               const LinkTable& links, const CandidateSource& source,
                                                               const PathSelectionOptions& options,
                                                               SelectionMemory* memory = nullptr,
                                                               LazyIdVector<LinkId, LinkLoad>* loads = nullptr);

}  // namespace fairlead::traffic
