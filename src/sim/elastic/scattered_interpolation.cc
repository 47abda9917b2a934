#include "sim/elastic/scattered_interpolation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_map>

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace fairlead::sim {
namespace {

constexpr double kInsideTolerance = 1e-10;
// Of a tetrahedron's extent: more than what the tolerance above lets in.
constexpr double kBoxTolerance = 1e-6;
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
    // SciPy's options: Delaunay, scaled last coordinate, kept coplanar points, a point at infinity, triangulated
    // output.
    char command[] = "qhull d Qbb Qc Qz Q12 Qt";
    return qh_new_qhull(&qh_, 3, static_cast<int>(points->size()), points->front().data(), False, command, nullptr,
                        silence_) == 0;
  }

  // In Qhull's order. Indices of points past the end mean the point at infinity.
  std::vector<Triangulation::Tetrahedron> Tetrahedra() {
    std::unordered_map<unsigned, int32_t> index_of;  // facet id -> tetrahedron; only looked up
    for (const facetT* facet = qh_.facet_list; facet != nullptr && facet->next != nullptr; facet = facet->next) {
      if (IsLower(*facet)) index_of.emplace(facet->id, static_cast<int32_t>(index_of.size()));
    }
    std::vector<Triangulation::Tetrahedron> all;
    for (facetT* facet = qh_.facet_list; facet != nullptr && facet->next != nullptr; facet = facet->next) {
      if (!IsLower(*facet)) continue;
      Triangulation::Tetrahedron tetrahedron{};
      for (size_t i = 0; i < 4; ++i) {
        const auto* vertex = static_cast<const vertexT*>(facet->vertices->e[i].p);
        const auto* neighbour = static_cast<const facetT*>(facet->neighbors->e[i].p);
        tetrahedron.corners[i] = static_cast<uint32_t>(qh_pointid(&qh_, vertex->point));
        const auto found = index_of.find(neighbour->id);
        tetrahedron.neighbours[i] = found == index_of.end() ? Triangulation::kOutside : found->second;
      }
      all.push_back(tetrahedron);
    }
    return all;
  }

 private:
  // Of the triangulation, not of the upper hull.
  static bool IsLower(const facetT& facet) { return !facet.upperdelaunay && facet.simplicial; }

  std::FILE* const silence_;  // Qhull prints pages about points in a plane; our callers get a Status
  qhT qh_;
};

// Whether it may be inside, which costs less to say than weights do.
bool IsInBox(const Triangulation::Tetrahedron& tetrahedron, const Point3& query) {
  for (size_t d = 0; d < 3; ++d) {
    if (query[d] < tetrahedron.low[d] || query[d] > tetrahedron.high[d]) return false;
  }
  return true;
}

bool AreInside(const std::array<double, 4>& weights) {
  return std::ranges::all_of(weights, [](double w) { return w >= -kInsideTolerance; });
}

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
  for (Tetrahedron& tetrahedron : made.tetrahedra_) made.Measure(&tetrahedron);
  return made;
}

void Triangulation::Measure(Tetrahedron* tetrahedron) const {
  const auto& c = tetrahedron->corners;
  const auto& p = points_;
  tetrahedron->is_flat =
      std::ranges::any_of(c, [&](uint32_t corner) { return corner >= p.size(); }) ||
      std::abs(Determinant(Minus(p[c[0]], p[c[3]]), Minus(p[c[1]], p[c[3]]), Minus(p[c[2]], p[c[3]]))) < kFlatVolume;
  if (tetrahedron->is_flat) return;
  for (size_t d = 0; d < 3; ++d) {
    const auto [low, high] = std::minmax({p[c[0]][d], p[c[1]][d], p[c[2]][d], p[c[3]][d]});
    tetrahedron->low[d] = low - kBoxTolerance * (high - low);
    tetrahedron->high[d] = high + kBoxTolerance * (high - low);
  }
}

std::array<double, 4> Triangulation::WeightsIn(const Tetrahedron& tetrahedron, const Point3& query) const {
  const Point3& origin = points_[tetrahedron.corners[3]];
  const Point3 a = Minus(points_[tetrahedron.corners[0]], origin);
  const Point3 b = Minus(points_[tetrahedron.corners[1]], origin);
  const Point3 c = Minus(points_[tetrahedron.corners[2]], origin);
  const Point3 q = Minus(query, origin);
  const double volume = Determinant(a, b, c);
  std::array<double, 4> weights = {Determinant(q, b, c) / volume, Determinant(a, q, c) / volume,
                                   Determinant(a, b, q) / volume, 0};
  weights[3] = 1 - weights[0] - weights[1] - weights[2];
  return weights;
}

int32_t Triangulation::WalkTowards(const Point3& query) const {
  int32_t from = 0;
  for (size_t moves = 0; moves <= tetrahedra_.size() / 4; ++moves) {
    const Tetrahedron& here = tetrahedra_[static_cast<size_t>(from)];
    if (here.is_flat) return kOutside;
    const auto weights = WeightsIn(here, query);
    const auto behind = std::ranges::find_if(weights, [](double w) { return w < -kInsideTolerance; });
    if (behind == weights.end()) return from;
    from = here.neighbours[static_cast<size_t>(behind - weights.begin())];
    if (from == kOutside) return kOutside;
  }
  return kOutside;
}

int32_t Triangulation::SearchAll(const Point3& query) const {
  for (size_t t = 0; t < tetrahedra_.size(); ++t) {
    const Tetrahedron& here = tetrahedra_[t];
    if (!here.is_flat && IsInBox(here, query) && AreInside(WeightsIn(here, query))) return static_cast<int32_t>(t);
  }
  return kOutside;
}

std::optional<Triangulation::Weights> Triangulation::Locate(const Point3& query) const {
  if (tetrahedra_.empty()) return std::nullopt;
  int32_t found = WalkTowards(query);
  // Where flat tetrahedra are in the way, or on the hull, the walk may end too early.
  if (found == kOutside) found = SearchAll(query);
  if (found == kOutside) return std::nullopt;
  const Tetrahedron& tetrahedron = tetrahedra_[static_cast<size_t>(found)];
  Weights result{tetrahedron.corners, WeightsIn(tetrahedron, query)};
  for (double& weight : result.weights) weight = std::max(weight, 0.0);
  return result;
}

}  // namespace fairlead::sim
