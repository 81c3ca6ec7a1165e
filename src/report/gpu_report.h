// What a report says about GPUs: the saturation score and what explains it, as plain values made from the
// score module's digest. Times are seconds since ReportModel::start; a number that is not known is NaN.
#pragma once

#include "report/model.h"
#include "score/digest.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::report {

// Up to this many GPUs, each has its own row of small plots; above, plots show a band and those that stand
// out.
inline constexpr size_t kMostGpuRows = 16;

// Fills `model.gpu`, the charts and sections of GPUs, a key figure and a sentence. Nothing for a digest
// without devices. The time axis grows where the digest's time reaches beyond it.
void add_gpus(ReportModel& model, const score::Digest& digest);

// "nid001001:0"
std::string gpu_label(const score::GpuDigest& gpu);

// Second 0 of the report becomes `start`, which is earlier: everything else moves later.
void begin_at(ReportModel& model, core::Time start);

// A word for a score, for orientation only: "high", "moderate", "low", "very low".
std::string_view score_word(double score);
// Whether there is one, of enough of the time for a verdict.
bool is_graded(const score::JobScore& job);
// "compute"; "" where that is not known.
std::string_view bound_text(const score::JobScore& job);
double gpu_hours(const score::JobScore& job);  // that were allocated
// In its place where there is none.
std::string_view why_no_score(const score::JobScore& job);
std::string format_score(double score);
// "58.1 to 66.0, 96.0 % observed"
std::string score_range(const score::JobScore& job);
// Of what the score is made of: a second, or the interval between samples where that is longer.
double window_seconds(double interval_seconds);
// At most `most` means of equal parts.
std::vector<double> thinned(const std::vector<double>& values, size_t most);

// Of the digest's parts. `offset`: seconds from the report's start to the digest's.
std::vector<GpuFacts> gpu_facts(const score::Digest& digest, const score::JobScore& job);
std::vector<Histogram> histograms(const score::Digest& digest, double startup_seconds);
std::vector<CeilingFacts> ceiling_facts(const score::Digest& digest);
std::vector<Chart> gpu_charts(const score::Digest& digest, double offset);
// Names the quantities of which nothing was sampled.
std::vector<NotDrawn> gpus_without_data(const score::Digest& digest);
NodeGrid gpu_grid(const score::Digest& digest, double offset);
Mix gpu_mix(const score::Digest& digest, double offset);
// A GPU's mean of what `gpu_mix` shows as compute: the use of the most used pipe, bucket by bucket.
double compute_use(const score::Digest& digest, const score::GpuDigest& gpu);

}  // namespace belay::report
