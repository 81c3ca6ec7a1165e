#include "report/not_drawn.h"

#include "report/gpu_report.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/testing/synthetic.h"
#include "report/testing/synthetic_gpu.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::report {
namespace {

using testing::HasSubstr;

void still(Measurements& data, size_t plot) {
    for (double& value : data[plot].values)
        if (!is_missing(value)) value = 0;
    std::ranges::fill(data[plot].means, 0);
    std::ranges::fill(data[plot].peaks, 0);
}

TEST(report, plots_that_are_always_zero_are_named_and_stay_in_the_model) {
    Measurements data = synthetic_training();
    for (const char* name : {"disk_read_bytes_per_second", "disk_written_bytes_per_second"})
        for (size_t plot = 0; plot < schema::kNodePlotCount; ++plot)
            if (schema::kNodePlots[plot].series.name == name) still(data, plot);
    const ReportModel model = assemble(data);
    EXPECT_FALSE(is_drawn(model, "storage", "disk"));
    EXPECT_TRUE(is_drawn(model, "storage", "job_io"));
    EXPECT_EQ(not_drawn_text(model, "storage"), "Always zero: Traffic of the disks.");
    EXPECT_EQ(not_drawn_text(model, kNodesSection), "Always zero: Disks, read; Disks, written.");
    EXPECT_NE(std::ranges::find(model.charts, "disk", &Chart::id), model.charts.end());
    EXPECT_EQ(to_json(model)["not_drawn"][1].dump(),
              R"({"id":"disk","section":"storage","title":"Traffic of the disks","why":"always zero"})");
    EXPECT_THAT(render_terminal(model, false, 100), HasSubstr("Always zero: Disks, read; Disks, written."));
}

TEST(report, what_has_no_data_is_named_with_the_reason) {
    const ReportModel model = assemble(synthetic_bare());
    EXPECT_THAT(not_drawn_text(model, "network"),
                HasSubstr("Network traffic (no samples in the table network)"));
    EXPECT_THAT(not_drawn_text(model, "training"), HasSubstr("printed no line of progress"));
    EXPECT_NE(std::ranges::find(model.sections, "network", &Section::id), model.sections.end());
    Measurements told = synthetic_training();
    told[node_plot("node_memory_bytes")] = {};
    EXPECT_THAT(not_drawn_text(assemble(told), "memory"),
                HasSubstr("Memory reserved by programs (not told by the system of the nodes)"));
}

TEST(report, gpus_have_no_empty_plots) {
    const ReportModel model = synthetic_gpu_job(1, 1, 600);
    EXPECT_FALSE(is_drawn(model, kGpusSection, "used_fp64")) << "no kernel used it";
    EXPECT_FALSE(is_drawn(model, "power", "gpu_held")) << "nothing held its clock down";
    EXPECT_THAT(not_drawn_text(model, "power"), HasSubstr("No data: Chip to chip"));
    for (const NodeMetric& metric : drawn_grid(model, model.gpu->grid, kGpusSection).metrics)
        EXPECT_NE(metric.id, "used_fp64");
    EXPECT_EQ(not_drawn_text(model, "score"), "");
}

TEST(report, gpus_without_counters_have_no_plot_of_their_shares) {
    const Measurements data = synthetic_large(1, 100);
    score::Digest digest = synthetic_digest(data, 1);
    for (auto& series : digest.gpus[0].series) std::ranges::fill(series, std::nanf(""));
    digest.gpus[0].totals = {};
    ReportModel model = assemble(data);
    add_gpus(model, digest);
    EXPECT_THAT(not_drawn_text(model, "score"), HasSubstr("No data: Where the time went"));
    EXPECT_EQ(std::ranges::find(model.charts, "gpu_shares", &Chart::id), model.charts.end());
}

TEST(report, a_report_of_nothing_names_nothing) {
    EXPECT_TRUE(assemble(Measurements{}).not_drawn.empty());
}

}  // namespace
}  // namespace belay::report
