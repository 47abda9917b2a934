#include "prediction/speed_table.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/csv_reader.h"
#include "prediction/number_column.h"

namespace fairlead::prediction {

namespace {

constexpr double kNoValue = 0;  // a time of 0 is an invalid measurement for the fit

struct SpeedColumns {
  size_t model;
  NumberColumn batch, servers, workers, gpus, server_cores, worker_cores, seconds, samples_per_s;
};

Result<SpeedColumns> FindColumns(const CsvReader& reader) {
  if (!reader.HasColumn("step_time_s")) {
    // The message then names the column that would do as well.
    FL_RETURN_IF_ERROR(reader.Column("total_samples_per_s").status());
  }
  FL_ASSIGN_OR_RETURN(const size_t model, reader.Column("model"));
  FL_ASSIGN_OR_RETURN(NumberColumn batch, NumberColumn::Required(reader, "global_batch"));
  FL_ASSIGN_OR_RETURN(NumberColumn servers, NumberColumn::Required(reader, "num_ps"));
  FL_ASSIGN_OR_RETURN(NumberColumn workers, NumberColumn::Required(reader, "num_workers"));
  FL_ASSIGN_OR_RETURN(NumberColumn gpus, NumberColumn::Optional(reader, "num_gpus", 0));
  FL_ASSIGN_OR_RETURN(NumberColumn server_cores, NumberColumn::Optional(reader, "cores_per_ps", 1));
  FL_ASSIGN_OR_RETURN(NumberColumn worker_cores, NumberColumn::Optional(reader, "cores_per_worker", 1));
  FL_ASSIGN_OR_RETURN(NumberColumn seconds, NumberColumn::Optional(reader, "step_time_s", kNoValue));
  FL_ASSIGN_OR_RETURN(NumberColumn speed, NumberColumn::Optional(reader, "total_samples_per_s", kNoValue));
  return SpeedColumns{model, batch, servers, workers, gpus, server_cores, worker_cores, seconds, speed};
}

Result<SpeedObservation> ReadObservation(const SpeedColumns& columns, const CsvReader& reader) {
  SpeedObservation observation;
  ServerConfiguration& c = observation.configuration;
  FL_ASSIGN_OR_RETURN(c.global_batch, columns.batch.Read(reader));
  FL_ASSIGN_OR_RETURN(c.servers, columns.servers.Read(reader));
  FL_ASSIGN_OR_RETURN(c.workers, columns.workers.Read(reader));
  FL_ASSIGN_OR_RETURN(c.gpus, columns.gpus.Read(reader));
  FL_ASSIGN_OR_RETURN(c.server_cores, columns.server_cores.Read(reader));
  FL_ASSIGN_OR_RETURN(c.worker_cores, columns.worker_cores.Read(reader));
  if (const Status status = CheckConfiguration(c); !status.ok()) {
    return InvalidArgument(reader.Where() + ": " + status.message());
  }
  FL_ASSIGN_OR_RETURN(double seconds, columns.seconds.Read(reader));
  FL_ASSIGN_OR_RETURN(const double samples_per_s, columns.samples_per_s.Read(reader));
  if (!(seconds > 0) && samples_per_s > 0) seconds = c.global_batch / samples_per_s;
  observation.iteration_time = Seconds(seconds);
  return observation;
}

Result<SpeedTable> ReadTable(CsvReader reader, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const SpeedColumns columns, FindColumns(reader));
  SpeedTable table;
  while (reader.Next()) {
    FL_ASSIGN_OR_RETURN(SpeedObservation observation, ReadObservation(columns, reader));
    table[std::string(reader.field(columns.model))].push_back(observation);
  }
  FL_RETURN_IF_ERROR(reader.status());
  if (table.empty()) return InvalidArgument(name + ": has no measurements; expected at least one row");
  return table;
}

}  // namespace

Result<SpeedTable> LoadSpeedTable(const std::string& path) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  return ReadTable(std::move(reader), path);
}

Result<SpeedTable> ReadSpeedTable(std::unique_ptr<std::istream> stream, const std::string& name) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::FromStream(std::move(stream), name));
  return ReadTable(std::move(reader), name);
}

}  // namespace fairlead::prediction
