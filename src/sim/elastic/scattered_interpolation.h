// Piecewise linear interpolation between scattered points in space: a Delaunay triangulation by Qhull, and barycentric
// weights in the tetrahedron around the query.
//
// Problem     measured points lie on a grid. Many lie on one sphere, so the triangulation is not unique; and where
//             Qhull cuts a cell of such points into tetrahedra, two cells may cut the face between them along different
//             diagonals. On such a face the answer depends on which tetrahedron is found first.
// Method      Qhull with the options of SciPy's Delaunay, and points in the given order; a walk from neighbour to
//             neighbour towards the query, and a search of all tetrahedra if that fails.
// Guarantees  same points, same query: same answer.
// Differs     from SciPy's answer only on such faces (seen: 4 % of one time; mean JCTs of a whole workload by 0.03 %).
// Reference   Barber et al., The Quickhull algorithm for convex hulls, 1996.
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
  // Nothing when the query is outside the convex hull. Cost: about the number of tetrahedra on the way, all when
  // outside.
  std::optional<Weights> Locate(const Point3& query) const;

  static constexpr int32_t kOutside = -1;
  struct Tetrahedron {
    std::array<uint32_t, 4> corners;
    std::array<int32_t, 4> neighbours;  // opposite to each corner; kOutside = none
    bool is_flat = false;
    Point3 low;  // of its corners; of a flat one, not set
    Point3 high;
  };

 private:
  // Sets what follows from the corners.
  void Measure(Tetrahedron* tetrahedron) const;
  std::array<double, 4> WeightsIn(const Tetrahedron& tetrahedron, const Point3& query) const;
  // Index of the tetrahedron; kOutside when the walk leaves the hull, strays, or meets a flat tetrahedron.
  int32_t WalkTowards(const Point3& query) const;
  int32_t SearchAll(const Point3& query) const;

  std::vector<Point3> points_;
  std::vector<Tetrahedron> tetrahedra_;
};

}  // namespace fairlead::sim
