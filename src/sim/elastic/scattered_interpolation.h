// Piecewise linear interpolation between scattered points in space: a Delaunay triangulation by Qhull, and barycentric weights
// in the tetrahedron around the query.
//
// The triangulation of points on a grid is not unique (many lie on one sphere). Points in the same order, the same Qhull
// options: the same triangulation, and the one that SciPy makes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace fairlead::sim {

using Point3 = std::array<double, 3>;

class Triangulation {
 public:
  // Errors: kInvalidArgument when the points do not span space (fewer than five, or all in one plane).
  static Result<Triangulation> Create(std::vector<Point3> points);

  // Points [points given to Create] and their weights, which are not negative and sum to 1.
  struct Weights {
    std::array<uint32_t, 4> points;
    std::array<double, 4> weights;
  };
  // Nothing when the query is outside the convex hull. Cost: O(tetrahedra).
  std::optional<Weights> Locate(const Point3& query) const;

 private:
  std::vector<Point3> points_;
  std::vector<std::array<uint32_t, 4>> tetrahedra_;
};

}  // namespace fairlead::sim
