#include "report/charts.h"
#include "report/describe.h"
#include "report/measurements.h"

#include <algorithm>

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
    model.sections = make_sections(model.charts);
    model.grid = make_grid(data);
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
