#include "report/charts.h"
#include "report/describe.h"
#include "report/measurements.h"

#include <algorithm>
#include <map>
#include <set>

namespace belay::report {

namespace {

// The total is weighted by samples: a table with ten rows a second counts no more than its expected rows.
Coverage make_coverage(const Measurements& data) {
    Coverage coverage{
        .tables = {}, .nodes = {}, .gaps = data.gaps, .gaps_total = data.gaps_total, .lost = data.lost};
    struct Count {
        int64_t expected = 0;
        int64_t received = 0;
        double share() const {
            return expected == 0 ? kMissing : static_cast<double>(received) / static_cast<double>(expected);
        }
    };
    Count total;
    std::map<std::pair<std::string, std::string>, Count> counts;
    std::set<std::string> tables;
    for (const CoverageRow& row : data.coverage) {
        Count& count = counts[{row.node, row.table}];
        for (Count* one : {&count, &total}) {
            one->expected += row.expected;
            one->received += row.received;
        }
        tables.insert(row.table);
    }
    coverage.total = total.share();
    coverage.tables.assign(tables.begin(), tables.end());
    for (const NodeFacts& node : data.nodes) {
        NodeCoverage line{.node = node.name, .shares = {}};
        for (const std::string& table : coverage.tables) {
            auto found = counts.find({node.name, table});
            line.shares.push_back(found == counts.end() ? kMissing : found->second.share());
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
