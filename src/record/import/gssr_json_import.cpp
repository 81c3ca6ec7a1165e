// A recording of gssr 0.3, the Python generation: file after file, by node and then in order of their
// beginnings.
#include "core/file.h"
#include "record/import/gssr_import.h"
#include "record/import/gssr_json.h"
#include "record/import/record_builder.h"
#include "record/import/seconds.h"
#include "record/import/source_files.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace belay::record {

using core::bad_input;
using core::Result;
using core::Time;
namespace fs = std::filesystem;

namespace {

// What is kept of a file until it is read for its samples.
struct Head {
    fs::path path;
    uint64_t bytes = 0;
    std::string node;
    std::string step;
    Time start;
    Time end;
    core::Duration spacing{};
};

std::string place_of(const GssrLayout& layout, const fs::path& path) {
    return path.lexically_relative(layout.root).string();
}

Result<GssrJson> read(const fs::path& path, const std::string& place) {
    BELAY_TRY(text, core::read_file(path, kLargestGssrJson));
    return parse_gssr_json(text, place);
}

std::string node_of(const GssrJson& recording) {
    if (!recording.host.empty()) return recording.host;
    return recording.rank ? fmt::format("proc_{}", *recording.rank) : "proc_0";
}

Head head_of(const fs::path& path, const GssrJson& recording) {
    Head head{.path = path,
              .node = node_of(recording),
              .step = recording.step_id ? std::to_string(*recording.step_id) : "",
              .start = recording.time_of(0),
              .end = recording.time_of(recording.samples()),
              .spacing = duration_of(recording.spacing_seconds())};
    if (recording.start) head.start = std::min(head.start, *recording.start);
    return head;
}

void describe(const GssrJson& recording, Manifest& manifest) {
    JobFacts& job = manifest.job;
    if (!job.id) job.id = recording.job_id;
    if (job.name.empty()) job.name = recording.label;
    if (manifest.command.empty() && !recording.command.empty()) manifest.command = {recording.command};
}

// First pass: what the recording is of. Files that hold nothing that can be understood are defects.
Result<std::vector<Head>> survey(const GssrLayout& layout, Manifest& manifest, std::vector<Defect>& defects) {
    std::vector<Head> heads;
    for (const fs::path& path : layout.jsons) {
        std::string place = place_of(layout, path);
        auto recording = read(path, place);
        if (was_not_read(recording)) return unread(std::move(recording.error()));
        if (!recording || recording->samples() == 0) {
            std::string why = recording ? place + " has no samples" : recording.error().message();
            defects.push_back(
                {.kind = recording ? "no_samples" : "no_recording", .text = why + ": left out"});
            continue;
        }
        if (manifest.job.id && recording->job_id && *manifest.job.id != *recording->job_id)
            return bad_input("{} holds recordings of several jobs: {} and {}", layout.root.string(),
                             *manifest.job.id, *recording->job_id)
                .hint("name the directory of one of them");
        if (!recording->end && !recording->start)
            defects.push_back({.kind = "no_date",
                               .place = place,
                               .text = "no time says when it began: its times count from 1970"});
        describe(*recording, manifest);
        heads.push_back(head_of(path, *recording));
        std::error_code ignored;
        heads.back().bytes = fs::file_size(path, ignored);
    }
    // By node, as the table is sorted.
    std::ranges::stable_sort(heads, {}, [](const Head& head) { return std::tie(head.node, head.start); });
    return heads;
}

// A score takes samples for one spacing of all, up to a half more: with the longest none is taken for less
// than it is.
void complete(Manifest& manifest, const std::vector<Head>& heads, std::vector<Defect>& defects) {
    const auto [shortest, longest] = std::ranges::minmax(heads, {}, &Head::spacing);
    manifest.interval = longest.spacing;
    if (2 * longest.spacing >= 3 * shortest.spacing)
        defects.push_back(
            {.kind = "different_intervals",
             .is_warning = false,
             .text =
                 fmt::format("samples are {:g} s apart in some files and {:g} s in others: the longer is the "
                             "record's interval, so that a score overlooks gaps that are shorter; each file "
                             "by itself can be imported, too",
                             core::to_seconds(shortest.spacing), core::to_seconds(longest.spacing))});
    manifest.software["gssr"] = "0.3";  // no file says which version wrote it
    for (const Head& head : heads) {
        manifest.job.start = std::min(manifest.job.start.value_or(head.start), head.start);
        manifest.job.end = std::max(manifest.job.end.value_or(head.end), head.end);
        if (std::ranges::find(manifest.job.nodes, head.node) == manifest.job.nodes.end())
            manifest.job.nodes.push_back(head.node);
    }
}

// Second pass.
class Samples {
  public:
    Samples(const std::vector<int64_t>& wanted, std::vector<Defect>& defects)
        : wanted_(wanted), defects_(defects) {}

    void add(const Head& head, const std::string& place, const GssrJson& recording, stream::Batch& rows) {
        HeldNode& node = nodes_[head.node];
        node.name = head.node;
        node.spans.push_back({.start = head.start, .end = head.end, .step = head.step});
        for (const auto& [gpu, series] : recording.gpus) {
            if (!wanted_.empty() && std::ranges::find(wanted_, gpu) == wanted_.end()) continue;
            HeldSpan span{.start = head.start, .end = head.end, .step = head.step, .spacing = head.spacing};
            int64_t told_before = add_series(recording, gpu, series, head.node, span, rows);
            node.gpus[gpu].push_back(span);
            if (told_before > 0)
                defects_.push_back(
                    {.kind = "told_twice",
                     .is_warning = false,
                     .node = head.node,
                     .place = place,
                     .text = fmt::format("{} samples of GPU {} are of a time that another rank or step "
                                         "recorded already: left out",
                                         told_before, gpu)});
        }
    }

    std::vector<HeldNode> take_nodes() {
        std::vector<HeldNode> nodes;
        for (auto& [name, node] : nodes_) {
            node.spans = merge_spans(std::move(node.spans));
            for (auto& [gpu, spans] : node.gpus) spans = merge_spans(std::move(spans));
            nodes.push_back(std::move(node));
        }
        return nodes;
    }

  private:
    int64_t add_series(const GssrJson& recording, int64_t gpu, const std::vector<GssrRow>& series,
                       const std::string& node, HeldSpan& span, stream::Batch& rows) {
        std::string device = device_label(node, gpu);
        auto [last, is_first] = last_.try_emplace(device, Time::min());
        int64_t told_before = 0;
        for (size_t i = 0; i < series.size(); ++i) {
            Time time = recording.time_of(i + 1);  // a row tells of the time before it
            if (time <= last->second) {
                ++told_before;
                continue;
            }
            last->second = time;
            ++span.received;
            add_gpu_row(rows, time, node, device, series[i], kMissing);
        }
        return told_before;
    }

    const std::vector<int64_t>& wanted_;
    std::vector<Defect>& defects_;
    std::map<std::string, HeldNode> nodes_;
    std::map<std::string, Time> last_;  // by device
};

}  // namespace

Result<Imported> import_gssr_json(const ImportOptions& options, const GssrLayout& layout) {
    Imported imported;
    Manifest manifest;
    BELAY_TRY(heads, survey(layout, manifest, imported.defects));
    if (heads.empty())
        return bad_input("{} holds no samples{}", layout.root.string(),
                         imported.defects.empty() ? "" : ": " + imported.defects.front().sentence())
            .hint("none of its *_proc_N.json can be read; gssr writes them when the job ends");
    complete(manifest, heads, imported.defects);
    BELAY_TRY(builder, RecordBuilder::create(options, std::move(manifest)));
    uint64_t total = 0;
    uint64_t done = 0;
    for (const Head& head : heads) total += head.bytes;
    Samples samples(options.gpus, imported.defects);
    std::string node;
    for (const Head& head : heads) {
        if (std::exchange(node, head.node) != head.node) BELAY_CHECK(builder.cut_samples());
        std::string place = place_of(layout, head.path);
        BELAY_TRY(recording, read(head.path, place));
        samples.add(head, place, recording, builder.samples());
        BELAY_CHECK(builder.write_samples());
        if (options.progress) options.progress(done += head.bytes, total);
    }
    if (builder.sample_rows() == 0)
        return bad_input("{} has no samples of the GPUs that --gpu names", layout.root.string());
    std::vector<HeldNode> nodes = samples.take_nodes();
    for (const HeldNode& node : nodes) {
        builder.add_held(node, "gssr 0.3", true);
        imported.devices += node.gpus.size();
    }
    imported.nodes = nodes.size();
    BELAY_CHECK(builder.finish(imported.defects));
    imported.rows = builder.sample_rows();
    return imported;
}

}  // namespace belay::record
