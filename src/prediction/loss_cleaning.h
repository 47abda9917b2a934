// What is done to a loss curve before it is fitted: is it one at all, which points are outliers, where did the learning
// rate fall?
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "prediction/convergence_model.h"

namespace fairlead::prediction {

// The first reason against the curve as a whole: everything but kFlat and what a fit finds. kNone: none.
UnpredictableReason FindCurveProblem(std::span<const LossPoint> points, size_t min_points);

// The points within median +- `deviations` times the median absolute deviation of the window around each; windows of
// `window` points, moved inwards at the ends. Points on a falling stretch stay too (the steep start of a curve is no
// outlier), and so does all of a window without deviation.
std::vector<LossPoint> DropOutliers(std::span<const LossPoint> points, size_t window = 9, double deviations = 4);

// Index of the first point after the last sudden fall: a change that lies more than `deviations` standard deviations of
// the `window` changes before it below their mean, and after which the loss stays down. None: no such fall.
std::optional<size_t> FindLastDrop(std::span<const LossPoint> points, double deviations, size_t window = 8);

}  // namespace fairlead::prediction
