#include "report/pdf/pdf.h"

#include "core/file.h"
#include "core/process.h"
#include "report/pdf/canvas.h"
#include "report/pdf/pages.h"
#include "report/testing/synthetic.h"
#include "report/testing/synthetic_gpu.h"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPdfToText = "/usr/bin/pdftotext";

// What a reader of the file can search and copy; pages end with a form feed.
std::string text_of(const std::string& pdf) {
    auto directory = core::TemporaryDirectory::create("pdf_test").value();
    std::filesystem::path file = directory.path() / "r.pdf";
    EXPECT_TRUE(core::replace_file(file, pdf));
    auto ended = core::run({.argv = {kPdfToText, "-layout", file.string(), "-"}}, {});
    EXPECT_TRUE(ended) << ended.error().message();
    return ended ? ended->out : std::string();
}

long pages_of(const std::string& text) {
    return std::ranges::count(text, '\f');
}

class Pdf : public testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(kPdfToText)) GTEST_SKIP() << "poppler-utils is not installed";
    }
};
using report_pdf = Pdf;

TEST_F(report_pdf, holds_score_findings_and_methods) {
    auto pdf = render_pdf(synthetic_gpu_job(4, 4, 600));
    ASSERT_TRUE(pdf) << pdf.error().message();
    std::string text = text_of(*pdf);
    for (const char* part :
         {"llm-pretrain", "saturation score of 100", "A GPU ran slower because it was too hot", "Breakdown",
          "GPUs over time", "nid001004:3", "Heat maps", "Distributions", "Methods", "uncalibrated"})
        EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(report_pdf, what_is_critical_stands_above_the_score) {
    std::string text = text_of(render_pdf(synthetic_gpu_job(4, 4, 600)).value());
    EXPECT_THAT(text, HasSubstr("completed, 1 critical finding"));
    EXPECT_LT(text.find("cooling"), text.find("saturation score of 100"));
}

TEST_F(report_pdf, proposal_has_two_pages) {
    for (auto [nodes, per_node] : {std::pair{1, 1}, {4, 4}, {64, 4}}) {
        auto pdf = render_proposal(
            synthetic_gpu_job(static_cast<size_t>(nodes), static_cast<size_t>(per_node), 600));
        ASSERT_TRUE(pdf) << pdf.error().message();
        std::string text = text_of(*pdf);
        EXPECT_EQ(pages_of(text), 2) << nodes;
        for (const char* part : {"Node-hours", "Steady state", "Energy of the GPUs", "How this was measured"})
            EXPECT_THAT(text, HasSubstr(part));
    }
}

// What stands on each page.
std::vector<std::string> pages_in(const std::string& text) {
    std::vector<std::string> pages;
    for (size_t at = 0, end = 0; (end = text.find('\f', at)) != text.npos; at = end + 1)
        pages.push_back(text.substr(at, end - at));
    return pages;
}

TEST_F(report_pdf, proposal_of_a_job_without_gpus_is_full_of_what_it_used) {
    const std::string text = text_of(render_proposal(assemble(synthetic_training())).value());
    const std::vector<std::string> pages = pages_in(text);
    ASSERT_EQ(pages.size(), 2U);
    for (const char* part : {"Use", "Memory peak", "Throughput per node", "Training loss", "Processors"})
        EXPECT_THAT(pages[0], HasSubstr(part));
    for (const char* part : {"Resident memory of the job", "Network traffic", "Storage traffic of the job",
                             "How this was measured", "of the CPUs allotted to it"})
        EXPECT_THAT(pages[1], HasSubstr(part));
    EXPECT_THAT(text, Not(HasSubstr("GPU")));
    EXPECT_EQ(pages_of(text_of(render_proposal(assemble(synthetic_bare())).value())), 1);
}

TEST_F(report_pdf, headings_stay_with_what_follows) {
    const std::vector<std::string> titles = {"Training", "Processors", "Memory",
                                             "Network",  "Storage",    "Power, clocks and links"};
    for (const ReportModel& model : {assemble(synthetic_training()), synthetic_gpu_job(4, 4, 600),
                                     synthetic_gpu_job(1, 1, 600), assemble(synthetic_large(40))})
        for (std::string page : pages_in(text_of(render_pdf(model).value()))) {
            page.erase(page.rfind(model.producer));  // the foot
            page.erase(page.rfind('\n') == page.npos ? 0
                                                     : page.find_last_not_of(" \n", page.rfind('\n')) + 1);
            const std::string last = page.substr(page.rfind('\n') + 1);
            for (const std::string& title : titles) EXPECT_FALSE(last.starts_with(title)) << page;
        }
}

TEST_F(report_pdf, lines_of_a_text_stay_lines) {
    ReportModel model = synthetic_gpu_job(1, 1, 600);
    model.job.command = "srun bash -c '\npython train.py\n'";
    findings::Finding& finding = model.findings->findings.front();
    finding.advice = "First this.\nThen that.";
    for (int i = 0; i < 45; ++i) finding.evidence.push_back({"text", std::string("line one\nline two"), ""});
    const std::string text = text_of(render_pdf(model).value());
    EXPECT_THAT(text, testing::ContainsRegex("First this\\.\n *Then that\\."));
    EXPECT_THAT(text, testing::ContainsRegex("srun bash -c '\n *python train.py\n"));
    EXPECT_THAT(text, Not(HasSubstr("?")));
    const std::vector<std::string> pages = pages_in(text);
    EXPECT_THAT(pages.at(0), HasSubstr("line two"));
    EXPECT_THAT(pages.at(1), HasSubstr("line two")) << "a long finding goes on on the next page";
    EXPECT_THAT(pages.at(2), HasSubstr("saturation score of 100"));
}

TEST_F(report_pdf, both_edges_of_a_band_have_one_key) {
    const std::string text = text_of(render_pdf(assemble(synthetic_large(40))).value());
    EXPECT_THAT(text, HasSubstr("lowest to highest received"));
    EXPECT_THAT(text, HasSubstr("lowest to highest sent"));
}

TEST_F(report_pdf, job_without_gpus_has_its_charts_and_nothing_of_gpus) {
    auto pdf = render_pdf(assemble(synthetic_training()));
    ASSERT_TRUE(pdf) << pdf.error().message();
    std::string text = text_of(*pdf);
    EXPECT_THAT(text, HasSubstr("Training loss"));
    EXPECT_THAT(text, HasSubstr("CPU use of the job"));
    EXPECT_THAT(text, Not(HasSubstr("aturation")));
    EXPECT_THAT(text, Not(HasSubstr("Methods")));
}

TEST_F(report_pdf, any_text_can_be_written) {
    for (const ReportModel& model :
         {assemble(synthetic_hostile()), assemble(synthetic_bare()), ReportModel()}) {
        auto pdf = render_pdf(model);
        ASSERT_TRUE(pdf) << pdf.error().message();
        EXPECT_GE(pages_of(text_of(*pdf)), 1);
    }
}

TEST_F(report_pdf, text_keeps_what_windows_1252_can_write) {
    auto canvas = Canvas::create("t").value();
    canvas.add_page();
    canvas.text({50, 50}, "Zürich – 5 × 3 °C … Ω");
    EXPECT_THAT(text_of(canvas.finish().value()), HasSubstr("Zürich – 5 × 3 °C … ?"));
}

TEST(report_canvas, methods_tell_the_windows_of_the_recording) {
    GpuReport gpu;
    gpu.interval_seconds = 10;
    EXPECT_THAT(methods_text(gpu),
                HasSubstr("per GPU and window of 10 s, from counters sampled every 10 s."));
    gpu.interval_seconds = 0.5;
    EXPECT_THAT(methods_text(gpu),
                HasSubstr("per GPU and window of 1 s, from counters sampled every 0.5 s."));
}

TEST(report_canvas, long_text_is_shortened_and_broken) {
    auto canvas = Canvas::create("t").value();
    canvas.add_page();
    TextStyle style;
    std::string fitted = canvas.fitted("ééééééééééééééééééééééééééééé", 50, style);
    EXPECT_LE(canvas.text_width(fitted, style), 50);
    EXPECT_TRUE(fitted.ends_with("é…")) << fitted;
    EXPECT_EQ(canvas.fitted("short", 50, style), "short");
    EXPECT_EQ(canvas.fitted("short", 0, style), "…");
    EXPECT_EQ(canvas.fitted(std::string(size_t{1} << 20, 'x'), 50, style),
              canvas.fitted(std::string(100, 'x'), 50, style));
    std::string wider = fitted.substr(0, fitted.size() - std::string_view("…").size()) + "é…";
    EXPECT_GT(canvas.text_width(wider, style), 50) << "no shorter than it has to be";
    double below = canvas.paragraph({50, 50}, 100, "one two three four five six seven eight nine ten", style);
    EXPECT_GT(below, 50 + 2 * style.size);
}

}  // namespace
}  // namespace belay::report
