// Waits of ranks as a figure: ranks and operations in layers, arrows from the waiting to the awaited one, so that the
// common cause is at the right end.
//
// Readable at any size: nodes of one kind that wait for the same and are waited for by the same are one; if there are
// still too many, those farthest from the culprits are one.
#pragma once

#include <string>

#include "model/wait_picture.h"

namespace fairlead::report {

// "rank 3", "all_reduce 17", "1,023 ranks: 0–4, 6–1023".
std::string LabelOf(const model::WaitNode& node);

struct WaitGraphFigure {
  std::string title;
  std::string description;
  model::WaitPicture waits;
  size_t num_nodes_max = 40;  // 2 or more
  double width = 1080;
};

// Folds and draws.
std::string Draw(const WaitGraphFigure& figure);

}  // namespace fairlead::report
