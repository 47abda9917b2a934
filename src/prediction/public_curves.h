// The published validation curves of the Pollux simulator, as jobs with a known end.
//
// The folder is the data set's: traces/<model>/validation-<batch>.csv with progress, iteration, metric, grad_sqr and
// grad_var for each epoch; 40 files of six models. Accuracies (cifar10, imagenet, ncf) become losses 1 - metric, F1
// scores in percent (bert) 1 - metric / 100; word error rates (deepspeech2, in percent) and yolov3's loss are
// unchanged. A run's end is where its loss, by the median of three epochs, first comes within 2 % of its own last
// value: the target it would be given. The curves say nothing about the models, so those features are 0 but for the
// batch, and for imagenet's schedule of falling learning rates nothing is declared.
#pragma once

#include <string>

#include "base/status.h"
#include "prediction/job_table.h"

namespace fairlead::prediction {

// Named model-batch, in order of model and batch. Errors: kNotFound when the folder is not there; those of CsvReader.
Result<JobTable> LoadPublicCurves(const std::string& folder);

}  // namespace fairlead::prediction
