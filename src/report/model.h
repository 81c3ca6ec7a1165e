// What a report says, as a plain value: no database, no page. `build_model` (query.h) reads it from a record,
// `render_html` (page.h) and `render_terminal` (terminal.h) show it, `to_json` (json.h) is what the page
// carries.
//
// Times in it are seconds since `start` unless the type is core::Time. A number that was not measured is NaN
// (JSON null), never 0. Units are "share" (0..1), "B", "B/s", "s", "samples/s", "tokens/s", or "" for none.
#pragma once

#include "core/time.h"
#include "findings/finding.h"
#include "record/manifest.h"
#include "score/job_score.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::report {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

inline bool is_missing(double value) {
    return std::isnan(value);
}

// How good or bad something is, shown as a colour together with a word or a sign.
enum class Tone : uint8_t { kNeutral, kGood, kWarning, kBad };

// The job, and what became of it.
struct Job : record::JobFacts {
    std::string command;
    std::optional<int64_t> exit_status;  // of the command; unknown while it runs or after a signal
    std::string outcome;                 // "completed", "failed", "running" or "unknown"
    std::string failure;                 // what went wrong first: "rank 3 on n2: python ended with signal 9"
};

struct NodeFacts {
    std::string name;
    std::optional<int64_t> cpus;           // logical CPUs online
    std::optional<int64_t> cpus_allotted;  // that the job may use
    std::optional<int64_t> memory_bytes;
    std::optional<int64_t> tasks;
};

// One line, area or band edge of a chart. `values` has one entry per entry of the chart's `seconds`.
struct Curve {
    std::string label;
    std::string node;    // "" if it is not one node's
    std::string colour;  // a name that the page's style gives a colour: "node-0", "user", "loss" ...
    bool dashed = false;
    bool below = false;  // drawn downwards from the axis: transmit under receive
    std::vector<double> values;
    // What the rest of the report calls its mean: over the measured time, not over the buckets. Missing where
    // nothing else tells one.
    double mean = kMissing;
};

enum class ChartKind : uint8_t {
    kLines,
    kStack,   // areas on top of each other, the first series lowest
    kBand,    // three series: lowest, median and highest node
    kSpread,  // three series as above, then lines of those that stand out
    kPoints,  // few values, each marked
    kSteps,   // each value holds until the next
};

// A horizontal line with a name, such as the target of a metric.
struct ReferenceLine {
    std::string label;
    double value = 0;
};

struct Chart {
    std::string id;
    std::string section;  // id of the section it stands in
    std::string title;
    std::string note;  // one line under the title; may be empty
    std::string unit;
    std::vector<std::string> plots = {};  // ids of the quantities in it (plots.h), or of what was printed
    ChartKind kind = ChartKind::kLines;
    std::optional<double> top;  // fixed upper end of the scale
    std::optional<ReferenceLine> target;
    std::vector<double> seconds;  // ascending
    std::vector<Curve> series;
};

// A chart, or a quantity of a map, that is named instead of drawn.
struct NotDrawn {
    std::string id;
    std::string section;
    std::string title;
    std::string why;  // "always zero", or why there is no data
};

struct Section {
    std::string id;
    std::string title;
    std::string note;
};

// One quantity of every node over time: `values[node * bins + bin]`. The mean is over the measured time, the
// peak is that of the samples before they were put into bins.
struct NodeMetric {
    std::string id;
    std::string label;
    std::string unit;
    std::optional<double> top;  // where the quantity has a natural upper end
    std::vector<double> values;
    std::vector<double> means;
    std::vector<double> peaks;
};

// Rows in the order of ReportModel::nodes, or of GpuReport::gpus.
struct NodeGrid {
    size_t bins = 0;
    double bin_seconds = 0;
    double start = 0;
    std::vector<NodeMetric> metrics;
};

struct NodeCoverage {
    std::string node;
    std::vector<double> shares;  // per table of Coverage::tables
};

struct Gap {
    std::string node;
    std::string table;
    double start = 0;
    double seconds = 0;
};

struct Coverage {
    double total = kMissing;  // weighted by samples over the periodic tables
    std::vector<std::string> tables;
    std::vector<NodeCoverage> nodes;
    std::vector<Gap> gaps;
    size_t gaps_total = 0;          // `gaps` holds the longest ones only
    std::vector<std::string> lost;  // what the record says it lost, one sentence each
};

struct Event {
    double seconds = 0;
    std::string node;
    std::optional<int64_t> task;
    std::string kind;
    std::string severity;  // "info", "warning" or "critical"
    std::string message;
};

// What the training program said about itself.
struct Training {
    std::string benchmark;  // "cosmoflow"; "" if it did not say
    std::optional<int64_t> steps;
    double epochs = kMissing;
    double final_loss = kMissing;
    std::string metric_label;  // "MAE", or the key under which it was logged
    double final_metric = kMissing;
    double best_metric = kMissing;
    double target = kMissing;
    std::optional<bool> target_reached;
    double seconds_to_target = kMissing;
    std::string throughput_unit;  // "samples/s" or "tokens/s"
    double throughput_mean = kMissing;
    double throughput_peak = kMissing;
};

struct Fact {
    std::string name;
    std::string value;
    bool is_deviation = false;  // not as it should be: a check of vetting that did not pass
    bool refuses = false;       // of those, one that takes a node out
};

// Facts under one heading: environment, vetting, hardware, software, sampling.
struct FactGroup {
    std::string title;
    std::vector<Fact> facts;
};

// One of the large numbers at the top.
struct KeyFigure {
    std::string label;
    std::string value;
    std::string detail;
    Tone tone = Tone::kNeutral;
    std::vector<double> spark;  // its course over time; may be empty
};

// A GPU: its score, and what explains it.
struct GpuFacts {
    std::string label;  // "nid001001:0"
    std::string model;  // with its MIG profile
    double weight = 1;
    score::PartScore part;
    double compute = kMissing;  // mean use of the most used pipe and of DRAM, 0 to 1
    double memory = kMissing;
    double power_watts = kMissing;
    double temperature = kMissing;
    double energy_wh = kMissing;
    double memory_peak_bytes = kMissing;
};

// Shares of the observed time per bin of 0 to 1.
struct Histogram {
    std::string id;
    std::string label;
    std::string note;
    std::vector<double> shares;   // without start-up, where it was told apart
    std::vector<double> startup;  // empty if it was not
};

// Compute, memory and network over time, for a view whose weights a reader sets.
struct Mix {
    std::vector<double> seconds;
    std::vector<double> compute;
    std::vector<double> memory;
    std::vector<double> network;
    std::string network_note;
    bool network_is_share = false;   // of the links' bandwidth; else of its own highest value
    double network_mean = kMissing;  // of that share, over the whole job
};

struct CeilingFacts {
    std::string name;  // of the GPUs it was used for
    size_t gpus = 0;
    bool calibrated = false;
    std::string version;  // date and driver
    std::string source;
    double clock_hertz = kMissing;
    std::vector<double> active;  // tensor, fp64, fp32, fp16, dram
};

struct GpuReport {
    score::JobScore score;  // docs/score.md explains it
    std::vector<GpuFacts> gpus;
    NodeGrid grid;
    std::vector<Histogram> histograms;
    Mix mix;
    std::vector<CeilingFacts> ceilings;
    double interval_seconds = kMissing;
};

struct ReportModel {
    Job job;
    core::Time start;    // second 0 of every chart
    double seconds = 0;  // length of the time axis
    int64_t ranks = 0;
    std::vector<NodeFacts> nodes;
    std::optional<Training> training;
    std::vector<std::string> summary;  // sentences for a person
    std::vector<KeyFigure> figures;
    std::vector<Section> sections;
    std::vector<Chart> charts;
    NodeGrid grid;
    std::vector<NotDrawn> not_drawn;
    std::vector<Event> events;  // ascending in time
    size_t events_total = 0;    // `events` holds the most important ones only
    Coverage coverage;
    std::optional<GpuReport> gpu;                     // nothing if no GPU was sampled
    std::optional<score::Score> cpu_score;            // of a job without GPUs
    std::string score_sentence;                       // the same; may be empty
    std::optional<belay::findings::Report> findings;  // nothing if no rules were run
    std::vector<FactGroup> facts;
    std::string vetting;   // "pass" or "fail"; "" if the nodes were not vetted
    std::string producer;  // "Belay 0.1.0"
};

}  // namespace belay::report
