#include "workload/simai_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable_ascii.h"
#include "base/whole_number.h"

namespace fairlead::workload {
namespace {

using collective::CollectiveKind;
using collective::CollectiveSequence;
using collective::TrainingPass;
using GroupKind = collective::StepGroup::Kind;

constexpr size_t kMaxLineBytes = 4096;
constexpr double kMaxNumber = 1e18;
constexpr std::string_view kPolicies = "HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD, DATA, MODEL, MICRO";
constexpr std::array<std::string_view, 6> kOtherPolicies = {"HYBRID_DATA_MODEL",    "HYBRID_MODEL_DATA",
                                                            "HYBRID_CUSTOMIZED",    "HYBRID_DLRM",
                                                            "HYBRID_DLRM_ENHANCED", "DISTRIBUTED_INFERENCE"};

enum class Policy { kTransformer, kData, kModel, kMicro };

struct Exchange {
  CollectiveKind kind = CollectiveKind::kHierarchicalAllReduce;
  GroupKind group = GroupKind::kWorld;
  Bytes bytes;
};

// One column group of a line.
struct LayerPass {
  Seconds compute;
  Exchange exchange;
};

struct Layer {
  LayerPass forward;
  LayerPass input_gradient;
  LayerPass weight_gradient;
  double update_ns = 0;
};

struct Header {
  Policy policy = Policy::kTransformer;
  uint32_t tensor = 1;
  uint32_t expert = 1;
  uint32_t pipeline = 1;
  uint32_t virtual_pipeline = 1;
  uint32_t micro_batches = 1;
  uint32_t num_gpus = 0;
  Bytes pipeline_message;
};

// A token of the file, fit to be printed.
std::string Quote(std::string_view word) { return fmt::format("'{}'", PrintableAscii(word.substr(0, 40))); }

std::vector<std::string_view> SplitWords(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  std::vector<std::string_view> words;
  for (size_t begin = line.find_first_not_of(kSpace); begin != line.npos;) {
    const size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kSpace, end);
  }
  return words;
}

std::optional<double> ParseNumber(std::string_view word) {
  const std::optional<double> value = ParseWhole<double>(word);
  return value && *value >= 0 && *value <= kMaxNumber ? value : std::nullopt;  // false for NaN
}

class SimaiReader {
 public:
  SimaiReader(std::istream& input, const std::string& name) : input_(input), name_(name) {}

  Result<CollectiveSequence> Read();

 private:
  Status Fail(std::string_view what, std::string_view expected, std::string_view found) const {
    return InvalidArgument(fmt::format("{}:{}: {}: expected {}, found {}", name_, line_number_, what, expected, found));
  }
  Status NotSupported(std::string_view what, std::string_view supported) const {
    return {StatusCode::kUnimplemented,
            fmt::format("{}:{}: {} is not supported; supported: {}", name_, line_number_, what, supported)};
  }

  // The tokens of the next line that has any; nothing at the end of the file.
  Result<std::vector<std::string_view>> NextWords();
  Result<Header> ReadHeader();
  Status ReadPolicy(std::string_view word, Header& header) const;
  Status ReadSetting(std::string_view key, std::string_view word, Header& header) const;
  Result<size_t> ReadCount();
  Result<Layer> ReadLayer(const Header& header, size_t index, size_t count);
  Result<double> ReadNumber(std::string_view what, std::string_view word) const;
  Result<LayerPass> ReadPass(Policy policy, TrainingPass pass, const std::string_view* words) const;
  Result<Exchange> ReadExchange(Policy policy, TrainingPass pass, std::string_view word) const;

  std::istream& input_;
  const std::string& name_;
  std::array<char, kMaxLineBytes + 2> line_;  // the text that tokens point into
  uint64_t line_number_ = 0;
};

Result<std::vector<std::string_view>> SimaiReader::NextWords() {
  while (true) {
    ++line_number_;
    input_.getline(line_.data(), static_cast<std::streamsize>(line_.size()));
    const auto count = static_cast<size_t>(input_.gcount());
    if (input_.fail() && count == 0) return std::vector<std::string_view>();
    if (input_.fail()) return Fail("line", fmt::format("at most {} characters", kMaxLineBytes), "more");
    const size_t length = input_.eof() ? count : count - 1;  // without the line break
    std::vector<std::string_view> words = SplitWords({line_.data(), length});
    if (!words.empty() || input_.eof()) return words;
  }
}

Result<double> SimaiReader::ReadNumber(std::string_view what, std::string_view word) const {
  const auto value = ParseNumber(word);
  if (!value) return Fail(what, "a number in [0, 1e18]", Quote(word));
  return *value;
}

Status SimaiReader::ReadPolicy(std::string_view word, Header& header) const {
  if (word == "HYBRID_TRANSFORMER" || word == "HYBRID_TRANSFORMER_FWD_IN_BCKWD") {
    header.policy = Policy::kTransformer;
  } else if (word == "DATA") {
    header.policy = Policy::kData;
  } else if (word == "MODEL") {
    header.policy = Policy::kModel;
  } else if (word == "MICRO") {
    header.policy = Policy::kMicro;
  } else if (std::find(kOtherPolicies.begin(), kOtherPolicies.end(), word) != kOtherPolicies.end()) {
    return NotSupported(fmt::format("the parallelism {}", word), kPolicies);
  } else {
    return Fail("parallelism", fmt::format("one of {}", kPolicies), Quote(word));
  }
  return OkStatus();
}

Status SimaiReader::ReadSetting(std::string_view key, std::string_view word, Header& header) const {
  FL_ASSIGN_OR_RETURN(const double value, ReadNumber(key, word));
  if (key == "pp_comm") {
    header.pipeline_message = Bytes(value);
    return OkStatus();
  }
  if (key == "checkpoints" || key == "checkpoint_initiates") {
    if (value == 0) return OkStatus();
    return NotSupported("recomputing activations (checkpoints)", "checkpoints: 0 checkpoint_initiates: 0");
  }
  static constexpr std::pair<std::string_view, uint32_t Header::*> kSizes[] = {
      {"model_parallel_NPU_group", &Header::tensor},
      {"ep", &Header::expert},
      {"expert_parallel_npu_group", &Header::expert},
      {"pp", &Header::pipeline},
      {"vpp", &Header::virtual_pipeline},
      {"ga", &Header::micro_batches},
      {"all_gpus", &Header::num_gpus}};
  for (const auto& [name, member] : kSizes) {
    if (key != name) continue;
    if (value < 1 || value > 1e9 || value != std::floor(value)) {
      return Fail(key, "a whole number in [1, 1e9]", Quote(word));
    }
    header.*member = static_cast<uint32_t>(value);
    return OkStatus();
  }
  return Fail(
      "first line",
      "the keys model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, checkpoints, checkpoint_initiates, pp_comm",
      Quote(key));
}

Result<Header> SimaiReader::ReadHeader() {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, NextWords());
  if (words.empty()) return Fail("first line", fmt::format("one of {}", kPolicies), "the end of the file");
  Header header;
  FL_RETURN_IF_ERROR(ReadPolicy(words[0], header));
  for (size_t i = 1; i < words.size(); i += 2) {
    std::string_view key = words[i];
    if (key.ends_with(':')) key.remove_suffix(1);
    if (i + 1 == words.size()) return Fail(key, "a number behind it", "the end of the line");
    FL_RETURN_IF_ERROR(ReadSetting(key, words[i + 1], header));
  }
  return header;
}

Result<size_t> SimaiReader::ReadCount() {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, NextWords());
  const std::string expected = fmt::format("the number of layers, 1 to {}", kMaxSimaiLayers);
  if (words.size() != 1) {
    return Fail("second line", expected, words.empty() ? "the end of the file" : fmt::format("{} words", words.size()));
  }
  const auto value = ParseNumber(words[0]);
  if (!value || *value < 1 || *value > static_cast<double>(kMaxSimaiLayers) || *value != std::floor(*value)) {
    return Fail("second line", expected, Quote(words[0]));
  }
  return static_cast<size_t>(*value);
}

// "ALLTOALL_EP": the collective, and whom it is among.
Result<Exchange> SimaiReader::ReadExchange(Policy policy, TrainingPass pass, std::string_view word) const {
  static constexpr std::pair<std::string_view, CollectiveKind> kKinds[] = {
      {"ALLREDUCE", CollectiveKind::kHierarchicalAllReduce},
      {"ALLGATHER", CollectiveKind::kHierarchicalAllGather},
      {"REDUCESCATTER", CollectiveKind::kHierarchicalReduceScatter},
      {"ALLTOALL", CollectiveKind::kRailAllToAll}};
  const bool is_weight = pass == TrainingPass::kWeightGradient;
  for (const auto& [name, kind] : kKinds) {
    if (!word.starts_with(name)) continue;
    const std::string_view suffix = word.substr(name.size());
    if (policy != Policy::kTransformer) {
      if (suffix.empty()) return Exchange{kind, GroupKind::kWorld, Bytes(0)};
      break;
    }
    if (suffix.empty()) return Exchange{kind, is_weight ? GroupKind::kData : GroupKind::kTensor, Bytes(0)};
    if (suffix == "_EP") return Exchange{kind, GroupKind::kExpert, Bytes(0)};
    if (suffix == "_DP_EP") return Exchange{kind, GroupKind::kExpertData, Bytes(0)};
  }
  const std::string_view suffixes = policy == Policy::kTransformer ? ", each also with _EP and _DP_EP" : "";
  return NotSupported(fmt::format("the collective {} of the {} pass", Quote(word), Name(pass)),
                      fmt::format("NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL{}", suffixes));
}

// Three tokens: compute, collective, bytes.
Result<LayerPass> SimaiReader::ReadPass(Policy policy, TrainingPass pass, const std::string_view* words) const {
  const auto what = [&](std::string_view column) { return fmt::format("{} {}", Name(pass), column); };
  LayerPass result;
  FL_ASSIGN_OR_RETURN(const double compute_ns, ReadNumber(what("compute time"), words[0]));
  result.compute = Seconds(compute_ns * 1e-9);
  FL_ASSIGN_OR_RETURN(const double bytes, ReadNumber(what("bytes"), words[2]));
  if (words[1] == "NONE") return result;
  FL_ASSIGN_OR_RETURN(result.exchange, ReadExchange(policy, pass, words[1]));
  result.exchange.bytes = Bytes(bytes);
  return result;
}

Result<Layer> SimaiReader::ReadLayer(const Header& header, size_t index, size_t count) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, NextWords());
  if (words.empty()) {
    return Fail("layers", fmt::format("{} as in the second line", count), fmt::format("the end after {}", index));
  }
  if (words.size() != 12) {
    return Fail("layer", "12 columns (name, unused, three times compute, collective, bytes, then the update time)",
                fmt::format("{}", words.size()));
  }
  Layer layer;
  FL_ASSIGN_OR_RETURN(layer.forward, ReadPass(header.policy, TrainingPass::kForward, &words[2]));
  FL_ASSIGN_OR_RETURN(layer.input_gradient, ReadPass(header.policy, TrainingPass::kInputGradient, &words[5]));
  FL_ASSIGN_OR_RETURN(layer.weight_gradient, ReadPass(header.policy, TrainingPass::kWeightGradient, &words[8]));
  FL_ASSIGN_OR_RETURN(layer.update_ns, ReadNumber("update time", words[11]));
  return layer;
}

// Lays the layers out in time.
class SequenceWriter {
 public:
  SequenceWriter(const Header& header, const std::vector<Layer>& layers, CollectiveSequence& sequence)
      : header_(header), layers_(layers), sequence_(sequence) {}

  void Write() {
    switch (header_.policy) {
      case Policy::kTransformer:
        return WriteTransformer();
      case Policy::kData:
        return WriteData();
      case Policy::kModel:
        return WriteModel();
      case Policy::kMicro:
        for (const Layer& layer : layers_) Add({Seconds(0), layer.weight_gradient.exchange}, Seconds(0));
    }
  }

 private:
  void WriteTransformer() {
    for (const Layer& layer : layers_) Add(layer.forward, Seconds(0));
    AddPipelineMessages(TrainingPass::kForward);
    for (size_t i = layers_.size(); i-- > 0;) {
      Add(layers_[i].input_gradient, Seconds(0), TrainingPass::kInputGradient);
      Add(layers_[i].weight_gradient, collective::kUntilEnd, TrainingPass::kWeightGradient);
    }
    AddPipelineMessages(TrainingPass::kInputGradient);
  }

  void WriteData() {
    for (const Layer& layer : layers_) AddCompute(layer.forward);
    for (size_t i = layers_.size(); i-- > 0;) {
      Add(layers_[i].weight_gradient, collective::kUntilEnd, TrainingPass::kWeightGradient);
      if (i > 0) AddCompute(layers_[i].input_gradient);
    }
  }

  void WriteModel() {
    for (const Layer& layer : layers_) Add(layer.forward, Seconds(0));
    for (size_t i = layers_.size(); i-- > 0;) {
      LayerPass pass = layers_[i].input_gradient;
      if (i == 0) pass.exchange.bytes = Bytes(0);
      Add(pass, layers_[i].weight_gradient.compute, TrainingPass::kInputGradient);
      AddCompute(layers_[i].weight_gradient);
    }
  }

  void AddPipelineMessages(TrainingPass pass) {
    if (header_.pipeline == 1) return;
    const Bytes bytes = header_.pipeline_message * static_cast<double>(header_.micro_batches);
    Add({Seconds(0), {CollectiveKind::kSendReceive, GroupKind::kPipeline, bytes}}, Seconds(0), pass);
  }

  void AddCompute(const LayerPass& pass) { Add({pass.compute, {}}, Seconds(0)); }

  void Add(const LayerPass& pass, Seconds overlap, TrainingPass of = TrainingPass::kForward) {
    sequence_.steps.push_back({.compute = pass.compute,
                               .bytes = pass.exchange.bytes,
                               .overlap = overlap,
                               .kind = pass.exchange.kind,
                               .group = {.kind = pass.exchange.group},
                               .pass = of});
  }

  const Header& header_;
  const std::vector<Layer>& layers_;
  CollectiveSequence& sequence_;
};

void AddNotes(const Header& header, const std::vector<Layer>& layers, CollectiveSequence& sequence) {
  double update_ns = 0;
  for (const Layer& layer : layers) update_ns += layer.update_ns;
  if (update_ns > 0) sequence.notes.push_back(fmt::format("update times are left out: {:.3g} ms", update_ns * 1e-6));
  if (header.virtual_pipeline > 1) {
    sequence.notes.push_back(
        fmt::format("vpp {} is left out: the bubble is that of plain 1F1B", header.virtual_pipeline));
  }
  if (header.pipeline > 1 && header.pipeline_message <= Bytes(0)) {
    sequence.notes.emplace_back("the file gives no pp_comm: pipeline stages send each other nothing");
  }
  if (header.policy != Policy::kTransformer) {
    sequence.notes.emplace_back(
        "collectives are among all GPUs; columns that this parallelism doesn't use are left out");
  }
}

Result<CollectiveSequence> SimaiReader::Read() {
  FL_ASSIGN_OR_RETURN(const Header header, ReadHeader());
  FL_ASSIGN_OR_RETURN(const size_t count, ReadCount());
  std::vector<Layer> layers;
  for (size_t i = 0; i < count; ++i) {
    FL_ASSIGN_OR_RETURN(layers.emplace_back(), ReadLayer(header, i, count));
  }
  FL_ASSIGN_OR_RETURN(const std::vector<std::string_view> rest, NextWords());
  if (!rest.empty()) return Fail("layers", fmt::format("{} as in the second line", count), "more");

  CollectiveSequence sequence;
  sequence.name = name_;
  sequence.num_layers = static_cast<uint32_t>(count);
  sequence.num_gpus = header.num_gpus;
  sequence.parallelism = {.tensor = header.tensor,
                          .pipeline = header.pipeline,
                          .data = 0,
                          .expert = header.expert,
                          .micro_batches = header.micro_batches};
  SequenceWriter(header, layers, sequence).Write();
  AddNotes(header, layers, sequence);
  return sequence;
}

}  // namespace

Result<CollectiveSequence> ParseSimaiWorkload(std::istream& input, const std::string& name) {
  return SimaiReader(input, name).Read();
}

Result<CollectiveSequence> LoadSimaiWorkload(const std::string& path) {
  std::error_code error;
  std::ifstream input(path);
  if (!input || std::filesystem::is_directory(path, error)) {
    return NotFound(fmt::format("{}: cannot read this file; expected a SimAI workload", path));
  }
  return ParseSimaiWorkload(input, path);
}

}  // namespace fairlead::workload
