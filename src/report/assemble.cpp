#include "report/charts.h"
#include "report/describe.h"
#include "report/measurements.h"
#include "report/not_drawn.h"

#include <algorithm>
#include <iterator>

namespace belay::report {

namespace {

Coverage make_coverage(const Measurements& data) {
    Coverage coverage{
        .tables = {}, .nodes = {}, .gaps = data.gaps, .gaps_total = data.gaps_total, .lost = data.lost};
    coverage.total = data.samples.total().share().value_or(kMissing);
    for (const auto& [table, nodes] : data.samples.tables) coverage.tables.push_back(table);
    for (const NodeFacts& node : data.nodes) {
        NodeCoverage line{.node = node.name, .shares = {}};
        for (const auto& [table, nodes] : data.samples.tables) {
            auto found = nodes.find(node.name);
            line.shares.push_back(found == nodes.end() ? kMissing : found->second.share().value_or(kMissing));
        }
        coverage.nodes.push_back(std::move(line));
    }
    return coverage;
}

// Of its charts those without data are taken out.
std::vector<NotDrawn> what_is_not_drawn(ReportModel& model, const Measurements& data) {
    std::vector<NotDrawn> all = take_without_data(model.charts, data);
    if (!model.training && !data.nodes.empty())
        all.push_back({"training", "training", "Loss, throughput and metric",
                       "the program printed no line of progress that is known"});
    std::ranges::move(always_zero(model.charts), std::back_inserter(all));
    std::ranges::move(always_zero(model.grid, kNodesSection), std::back_inserter(all));
    return all;
}

}  // namespace

ReportModel assemble(const Measurements& data) {
    ReportModel model;
    model.job = data.job;
    model.start = data.start;
    model.seconds = data.seconds;
    for (const NodeFacts& node : data.nodes) model.ranks += node.tasks.value_or(0);
    model.nodes = data.nodes;
    model.training = describe_training(data);
    model.charts = make_charts(data);
    model.grid = make_grid(data);
    model.not_drawn = what_is_not_drawn(model, data);
    model.sections = make_sections(model.charts, model.not_drawn);
    model.events = data.events;
    model.events_total = data.events_total;
    model.coverage = make_coverage(data);
    model.facts = data.facts;
    model.vetting = data.vetting;
    model.producer = data.producer;
    describe(model, data);
    return model;
}

}  // namespace belay::report
