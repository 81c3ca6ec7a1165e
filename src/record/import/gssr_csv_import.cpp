// A recording of gssr-record, the C generation: survey its files, place them in time, read node after node.
#include "core/text.h"
#include "record/import/gssr_import.h"
#include "record/import/gssr_merge.h"
#include "record/import/source_files.h"

#include <algorithm>
#include <cmath>

namespace belay::record {

using core::bad_input;
using core::Result;

namespace {

constexpr size_t kLargestMeta = size_t{1} << 20;
// From where on power and energy say different things.
constexpr double kEnergyTolerance = 0.05;

Result<std::optional<GssrMeta>> read_meta(const GssrStep& step, std::vector<Defect>& defects) {
    std::string place = fmt::format("step_{}", step.number);
    if (step.metas.empty()) {
        defects.push_back(
            {.kind = "no_metadata", .place = place, .text = "there is no metadata (proc_0.meta.txt)"});
        return std::nullopt;
    }
    const GssrFile& file = step.metas.front();
    place += "/" + file.path.filename().string();
    if (step.metas.size() > 1)
        defects.push_back({.kind = "several_metadata",
                           .place = place,
                           .text = fmt::format("{} files of metadata, where one is written: this one is read",
                                               step.metas.size())});
    auto text = core::read_file(file.path, kLargestMeta);
    if (was_not_read(text)) return unread(std::move(text.error()));
    if (!text) {
        defects.push_back({.kind = "metadata_unread", .place = place, .text = text.error().message()});
        return std::nullopt;
    }
    GssrMeta meta = parse_gssr_meta(*text);
    if (!meta.date)
        defects.push_back(
            {.kind = "no_date", .place = place, .text = "the metadata has no date that can be read"});
    return meta;
}

Result<std::vector<PlannedStep>> survey_steps(const GssrLayout& layout, std::vector<Defect>& defects) {
    std::vector<PlannedStep> steps;
    for (const GssrStep& found : layout.steps) {
        BELAY_TRY(meta, read_meta(found, defects));
        PlannedStep step{.number = found.number, .meta = std::move(meta), .files = {}};
        for (const GssrFile& file : found.tables) {
            BELAY_TRY(surveyed, survey(file));
            step.files.push_back({.file = file, .survey = std::move(surveyed)});
        }
        std::string place = fmt::format("step_{}", found.number);
        if (found.tables.empty())
            defects.push_back(
                {.kind = "no_recording", .place = place, .text = "there is no recording (proc_N.csv)"});
        else if (step.meta && step.meta->step_nodes > std::ssize(found.tables))
            defects.push_back(
                {.kind = "missing_files",
                 .place = place,
                 .text = fmt::format("the step ran on {} nodes and {} left a file: the others are "
                                     "missing, also from the coverage",
                                     *step.meta->step_nodes, found.tables.size())});
        if (!steps.empty() && found.number > steps.back().number + 1)
            defects.push_back({.kind = "missing_step",
                               .is_warning = false,
                               .place = place,
                               .text = fmt::format("the step before it that was recorded is step_{}",
                                                   steps.back().number)});
        steps.push_back(std::move(step));
    }
    return steps;
}

std::vector<int64_t> ranks_of(const std::vector<PlannedStep>& steps, std::vector<Defect>& defects) {
    std::set<int64_t> all;
    bool differ = false;
    for (const PlannedStep& step : steps) {
        std::set<int64_t> ranks;
        for (const PlannedFile& file : step.files) ranks.insert(file.file.rank);
        differ = differ || (!all.empty() && !ranks.empty() && ranks != all);
        all.merge(ranks);
    }
    if (differ)
        defects.push_back({.kind = "nodes_renumbered",
                           .text =
                               "the nodes of the steps are numbered differently, by their first ranks: nodes "
                               "of different numbers may be the same, and are counted twice"});
    return {all.begin(), all.end()};
}

Manifest manifest_of(const std::vector<PlannedStep>& steps, const std::vector<int64_t>& ranks,
                     core::Duration spacing) {
    Manifest manifest{.interval = spacing};
    JobFacts& job = manifest.job;
    for (int64_t rank : ranks) job.nodes.push_back(fmt::format("proc_{}", rank));
    for (const PlannedStep& step : steps) {
        if (!step.files.empty()) {
            job.start = job.start ? std::min(*job.start, step.start) : step.start;
            job.end = job.end ? std::max(*job.end, step.end) : step.end;
        }
        if (!step.meta) continue;
        if (job.cluster.empty()) job.cluster = step.meta->cluster;
        if (!job.id) job.id = step.meta->job_id;
        if (job.name.empty()) job.name = step.meta->job_name;
        if (manifest.command.empty()) manifest.command = step.meta->command;
        if (!step.meta->version.empty()) manifest.software.try_emplace("gssr-record", step.meta->version);
    }
    return manifest;
}

// A node without samples is missing, not absent: it gets the GPUs that the first of the others has.
void fill_empty_nodes(std::vector<HeldNode>& nodes, std::vector<Defect>& defects) {
    auto usual = std::ranges::find_if(nodes, [](const HeldNode& node) { return !node.gpus.empty(); });
    if (usual == nodes.end()) return;
    for (HeldNode& node : nodes) {
        if (!node.gpus.empty()) continue;
        for (const auto& [gpu, spans] : usual->gpus) node.gpus[gpu] = node.spans;
        defects.push_back(
            {.kind = "no_samples",
             .node = node.name,
             .text = fmt::format("{} left no samples: its time counts as missing, for {} GPUs as on "
                                 "{}",
                                 node.name, usual->gpus.size(), usual->name)});
    }
}

void judge_allocation(const std::vector<PlannedStep>& steps, const std::vector<HeldNode>& nodes,
                      std::vector<Defect>& defects) {
    size_t recorded = 0;
    for (const HeldNode& node : nodes) recorded = std::max(recorded, node.gpus.size());
    for (const PlannedStep& step : steps) {
        if (!step.meta || !step.meta->gpus || *step.meta->gpus >= static_cast<int64_t>(recorded)) continue;
        defects.push_back(
            {.kind = "more_gpus_than_held",
             .place = fmt::format("step_{}", step.number),
             .text = fmt::format("{} GPUs of a node were recorded and the job held {}: which is not "
                                 "recorded, so all count; name them with --gpu",
                                 recorded, *step.meta->gpus)});
        return;
    }
}

void judge_samples(const std::vector<HeldNode>& nodes, core::Duration spacing, std::vector<Defect>& defects) {
    if (spacing != std::chrono::seconds(1))
        defects.push_back({.kind = "interval",
                           .is_warning = false,
                           .text = fmt::format("rows are {} s apart", core::to_seconds(spacing))});
    for (const HeldNode& node : nodes) {
        int64_t due = 0;
        int64_t received = 0;
        for (const auto& [gpu, spans] : node.gpus) {
            for (const HeldSpan& span : spans) {
                int64_t of_span = samples_due(span, spacing);
                due += of_span;
                received += std::min(of_span, span.received);
            }
        }
        if (received < due && received > 0)
            defects.push_back(
                {.kind = "missing_samples",
                 .node = node.name,
                 .text = fmt::format("{}: {} of {} samples are missing: GPUs have no row where others "
                                     "have, as when gssr-record cannot read a field, or none has for longer",
                                     node.name, due - received, due)});
    }
}

void judge_energy(const EnergyCheck& energy, std::vector<Defect>& defects) {
    if (!(energy.power_joules > 0)) return;
    double share = energy.counted_joules / energy.power_joules;
    if (std::abs(share - 1) > kEnergyTolerance)
        defects.push_back(
            {.kind = "energy_between",
             .is_warning = false,
             .text = fmt::format("the energy of the windows adds up to {:.0f} % of mean power × time; "
                                 "what is between the last sample of a window and the next is in no "
                                 "difference",
                                 100 * share)});
}

std::string source_of(const Manifest& manifest) {
    auto version = manifest.software.find("gssr-record");
    return version == manifest.software.end() ? "gssr" : "gssr " + version->second;
}

}  // namespace

Result<Imported> import_gssr_csv(const ImportOptions& options, const GssrLayout& layout) {
    Imported imported;
    std::vector<Defect>& defects = imported.defects;
    BELAY_TRY(steps, survey_steps(layout, defects));
    uint64_t total = 0;
    bool has_rows = false;
    for (const PlannedStep& step : steps) {
        for (const PlannedFile& file : step.files) {
            total += file.file.bytes;
            has_rows = has_rows || file.survey.has_rows;
        }
    }
    if (!has_rows)
        return bad_input("{} holds no samples", layout.root.string())
            .hint(
                "its proc_N.csv are missing, without rows, or not of gssr-record; those of jobreport are "
                "read by: "
                "belay record import jobreport");
    core::Duration spacing = spacing_of(steps);
    place_in_time(steps, spacing, defects);
    std::vector<int64_t> ranks = ranks_of(steps, defects);
    Manifest manifest = manifest_of(steps, ranks, spacing);
    std::string source = source_of(manifest);
    BELAY_TRY(builder, RecordBuilder::create(options, std::move(manifest)));

    uint64_t done = 0;
    EnergyCheck energy;
    std::vector<HeldNode> nodes;
    // In the order in which the table is sorted, by name.
    std::ranges::sort(ranks, {}, [](int64_t rank) { return std::to_string(rank); });
    for (int64_t rank : ranks) {
        GssrMerge merge(steps, rank, spacing, options.gpus);
        for (bool more = true; more;) {
            BELAY_TRY(added, merge.add_some(builder.samples()));
            more = added;
            BELAY_CHECK(builder.write_samples());
            BELAY_CHECK(builder.cut_samples());
            if (options.progress) options.progress(done + merge.bytes(), total);
        }
        done += merge.bytes();
        energy.counted_joules += merge.energy().counted_joules;
        energy.power_joules += merge.energy().power_joules;
        std::ranges::move(merge.defects(), std::back_inserter(defects));
        nodes.push_back(std::move(merge.node()));
    }
    if (builder.sample_rows() == 0)
        return bad_input("{} has no samples of the GPUs that --gpu names", layout.root.string());
    fill_empty_nodes(nodes, defects);
    if (options.gpus.empty()) judge_allocation(steps, nodes, defects);
    judge_samples(nodes, spacing, defects);
    judge_energy(energy, defects);
    for (const HeldNode& node : nodes) {
        builder.add_held(node, source, true);
        imported.devices += node.gpus.size();
    }
    BELAY_CHECK(builder.finish(defects));
    imported.nodes = nodes.size();
    imported.rows = builder.sample_rows();
    return imported;
}

}  // namespace belay::record
