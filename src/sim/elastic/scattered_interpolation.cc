#include "sim/elastic/scattered_interpolation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace fairlead::sim {
namespace {

constexpr double kInsideTolerance = 1e-10;
constexpr double kFlatVolume = 1e-12;

Point3 Minus(const Point3& a, const Point3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

double Determinant(const Point3& a, const Point3& b, const Point3& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

// One run of Qhull; frees what it holds.
class QhullRun {
 public:
  QhullRun() : silence_(std::fopen("/dev/null", "w")) { qh_zero(&qh_, silence_); }
  ~QhullRun() {
    qh_freeqhull(&qh_, !qh_ALL);
    int current_long = 0;
    int total_long = 0;
    qh_memfreeshort(&qh_, &current_long, &total_long);
    if (silence_ != nullptr) std::fclose(silence_);
  }
  QhullRun(const QhullRun&) = delete;
  QhullRun& operator=(const QhullRun&) = delete;

  bool Triangulate(std::vector<Point3>* points) {
    // SciPy's options: Delaunay, scaled last coordinate, kept coplanar points, a point at infinity, triangulated output.
    char command[] = "qhull d Qbb Qc Qz Q12 Qt";
    return qh_new_qhull(&qh_, 3, static_cast<int>(points->size()), points->front().data(), False, command, nullptr,
                        silence_) == 0;
  }

  std::vector<std::array<uint32_t, 4>> Tetrahedra() {
    std::vector<std::array<uint32_t, 4>> all;
    for (facetT* facet = qh_.facet_list; facet != nullptr && facet->next != nullptr; facet = facet->next) {
      if (facet->upperdelaunay || !facet->simplicial) continue;
      std::array<uint32_t, 4> corners{};
      size_t i = 0;
      for (void** entry = &facet->vertices->e[0].p; *entry != nullptr && i < 4; ++entry) {
        corners[i++] = static_cast<uint32_t>(qh_pointid(&qh_, static_cast<vertexT*>(*entry)->point));
      }
      if (i == 4) all.push_back(corners);
    }
    return all;
  }

 private:
  std::FILE* const silence_;  // Qhull prints pages about points in a plane; our callers get a Status
  qhT qh_;
};

}  // namespace

Result<Triangulation> Triangulation::Create(std::vector<Point3> points) {
  if (points.size() < 5) {
    return InvalidArgument(fmt::format("triangulation: {} points; expected at least five", points.size()));
  }
  Triangulation made;
  made.points_ = points;
  QhullRun run;
  if (!run.Triangulate(&points)) {
    return InvalidArgument(
        fmt::format("triangulation: the {} points lie in one plane, or are not numbers", made.points_.size()));
  }
  made.tetrahedra_ = run.Tetrahedra();
  std::erase_if(made.tetrahedra_, [&](const std::array<uint32_t, 4>& corners) {
    const auto& p = made.points_;
    // The point at infinity has an index past the end.
    if (std::ranges::any_of(corners, [&](uint32_t c) { return c >= p.size(); })) return true;
    const Point3 origin = p[corners[3]];
    return std::abs(Determinant(Minus(p[corners[0]], origin), Minus(p[corners[1]], origin),
                                Minus(p[corners[2]], origin))) < kFlatVolume;
  });
  return made;
}

std::optional<Triangulation::Weights> Triangulation::Locate(const Point3& query) const {
  for (const auto& corners : tetrahedra_) {
    const Point3& origin = points_[corners[3]];
    const Point3 a = Minus(points_[corners[0]], origin);
    const Point3 b = Minus(points_[corners[1]], origin);
    const Point3 c = Minus(points_[corners[2]], origin);
    const Point3 q = Minus(query, origin);
    const double volume = Determinant(a, b, c);
    Weights found{corners,
                  {Determinant(q, b, c) / volume, Determinant(a, q, c) / volume, Determinant(a, b, q) / volume, 0}};
    found.weights[3] = 1 - found.weights[0] - found.weights[1] - found.weights[2];
    if (std::ranges::all_of(found.weights, [](double w) { return w >= -kInsideTolerance; })) {
      for (double& w : found.weights) w = std::max(w, 0.0);
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace fairlead::sim
