#include "report/terminal.h"

#include "core/text.h"
#include "core/utf8.h"
#include "findings/report_text.h"
#include "report/findings.h"
#include "report/format.h"
#include "report/gpu_report.h"
#include "report/not_drawn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace belay::report {

namespace {

using core::columns_of;
using core::printable;

constexpr size_t kMostNodes = 16;  // in the table of nodes; a summary line stands for the rest
constexpr size_t kMostShownEvents = 12;
constexpr size_t kSparkWidth = 24;

std::string shortened(std::string text, size_t width) {
    if (columns_of(text) <= width) return text;
    size_t end = 0;
    for (size_t column = 0; column + 1 < width; ++column) do
            ++end;
        while (end < text.size() && (text[end] & 0xc0) == 0x80);
    return text.substr(0, end) + "…";
}

std::string padded(std::string_view text, size_t width, bool right) {
    size_t have = columns_of(text);
    std::string blanks(have < width ? width - have : 0, ' ');
    return right ? blanks + std::string(text) : std::string(text) + blanks;
}

class Writer {
  public:
    Writer(bool colour, size_t width) : colour_(colour), width_(width) {}

    void line(std::string_view text = {}) { text_.append(text) += '\n'; }
    void heading(std::string_view title) {
        line();
        line(paint(title, "1"));
    }
    std::string paint(std::string_view text, std::string_view code) const {
        return colour_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
    }
    std::string paint(std::string_view text, Tone tone) const {
        static constexpr std::array<std::string_view, 4> kCodes = {"0", "32", "33", "31"};
        return tone == Tone::kNeutral ? std::string(text) : paint(text, kCodes[static_cast<size_t>(tone)]);
    }
    // Words between blanks, broken at the width, every line after the first indented.
    void wrapped(std::string_view text, size_t indent) {
        std::string current(indent, ' ');
        size_t used = indent;
        while (!text.empty()) {
            size_t blank = std::min(text.find(' '), text.size());
            std::string_view word = text.substr(0, blank);
            text.remove_prefix(std::min(blank + 1, text.size()));
            if (used > indent && used + 1 + columns_of(word) > width_) {
                line(current);
                current.assign(indent, ' ');
                used = indent;
            }
            if (used > indent) {
                current += ' ';
                ++used;
            }
            current += word;
            used += columns_of(word);
        }
        line(current);
    }
    size_t width() const { return width_; }
    std::string take() { return std::move(text_); }

  private:
    bool colour_;
    size_t width_;
    std::string text_;
};

// Columns are as wide as their widest cell; the first is aligned left, those named in `right` to the right.
void write_table(Writer& out, std::span<const std::vector<std::string>> rows, std::string_view alignment) {
    std::vector<size_t> widths(alignment.size(), 0);
    for (const auto& row : rows)
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    for (size_t r = 0; r < rows.size(); ++r) {
        std::string line = "  ";
        for (size_t i = 0; i < rows[r].size(); ++i)
            line += padded(rows[r][i], widths[i], alignment[i] == 'r') + (i + 1 < rows[r].size() ? "  " : "");
        while (line.ends_with(' ')) line.pop_back();
        out.line(r == 0 ? out.paint(line, "2") : line);
    }
}

void write_header(Writer& out, const ReportModel& model) {
    const Job& job = model.job;
    std::string title = job.name.empty() ? std::string("Job") : printable(job.name);
    if (job.id) title += fmt::format(" · job {}", record::id_text(job));
    if (!job.cluster.empty()) title += fmt::format(" on {}", printable(job.cluster));
    const State state = job_state(model);
    out.line(fmt::format("{}  {}", out.paint(title, "1"), out.paint(state.text, state.tone)));
    std::string times = core::format_time(model.start).substr(0, 19) + "Z";
    if (!job.user.empty()) times = fmt::format("{} · {}", printable(job.user), times);
    out.line(fmt::format("{} · {}", times, format_duration(model.seconds)));
    if (!job.command.empty()) out.line("$ " + shortened(printable(job.command), out.width() - 2));
    out.line();
    for (const std::string& sentence : model.summary) out.wrapped(printable(sentence), 0);
}

void write_figures(Writer& out, const ReportModel& model) {
    out.heading("Key figures");
    size_t labels = 0;
    size_t values = 0;
    for (const KeyFigure& figure : model.figures) {
        labels = std::max(labels, columns_of(figure.label));
        values = std::max(values, columns_of(figure.value));
    }
    for (const KeyFigure& figure : model.figures) {
        std::string spark = padded(sparkline(figure.spark, kSparkWidth, 0), kSparkWidth, false);
        out.line(fmt::format("  {}  {}  {}  {}", padded(printable(figure.label), labels, false),
                             out.paint(padded(figure.value, values, true), figure.tone), spark,
                             out.paint(printable(figure.detail), "2")));
    }
}

// The score, a bar of where the time went, and what stands beside it.
void write_score(Writer& out, const GpuReport& gpu) {
    const score::JobScore& job = gpu.score;
    const score::Score& score = job.score;
    out.heading("Saturation score");
    out.line(fmt::format("  {}  {}", out.paint(format_score(score.point), "1"),
                         is_graded(job) ? fmt::format("{}, {}", score_word(score.point), score_range(job))
                                        : score_range(job)));
    struct Part {
        std::string_view name, code;
        double share;
    };
    const Part parts[] = {{"saturated", "32", score.shares.saturated},
                          {"unsaturated", "36", score.shares.unsaturated},
                          {"gap", "33", score.shares.gap},
                          {"idle", "2", score.shares.idle}};
    for (const Part& part : parts) {
        if (is_missing(part.share)) continue;
        constexpr double kBar = 40;
        std::string bar;
        for (long cell = std::lround(part.share * kBar); cell > 0; --cell) bar += "█";
        out.line(fmt::format("  {:<12}{:>6}  {}", part.name, format_quantity(part.share, "share"),
                             out.paint(bar, part.code)));
    }
    std::string beside;
    auto add = [&](std::string_view name, const std::string& value) {
        beside += fmt::format("{}{} {}", beside.empty() ? "" : " · ", name, value);
    };
    if (!is_missing(job.steady_state)) add("steady state", format_score(job.steady_state));
    if (!bound_text(job).empty()) add("bound by", std::string(bound_text(job)));
    if (!is_missing(job.imbalance)) add("imbalance", format_quantity(job.imbalance, "share"));
    if (!is_missing(job.burstiness.variation))
        add("burstiness", format_quantity(job.burstiness.variation, ""));
    if (!is_missing(job.energy_wh)) add("energy", format_quantity(job.energy_wh, "Wh"));
    if (!is_missing(job.saturated_hours_per_kwh))
        add("saturated GPU-h per kWh", format_quantity(job.saturated_hours_per_kwh, ""));
    add("limits", job.calibrated ? "calibrated" : "uncalibrated");
    out.wrapped(beside, 2);
}

void write_findings(Writer& out, const findings::Report& found, core::Time start) {
    out.heading("Findings");
    for (const findings::Finding& one : found.findings) {
        std::string mark = out.paint(fmt::format("{:<8}", findings::severity_name(one.severity)),
                                     severity_tone(one.severity));
        out.line(fmt::format("  {}  {}", mark, shortened(printable(one.title), out.width() - 12)));
        out.wrapped(printable(finding_place(one, start)), 12);
        if (!one.caused_by.empty()) out.wrapped("a consequence of " + core::join(one.caused_by, ", "), 12);
        if (!one.summary.empty()) out.wrapped(printable(one.summary), 12);
        const std::string evidence = evidence_text(one, ", ");
        if (!evidence.empty()) out.wrapped(printable(evidence), 12);
        for (std::string_view line : quoted_lines(one)) out.wrapped("| " + printable(line), 12);
        if (!one.advice.empty()) out.wrapped(printable(one.advice), 12);
    }
    std::string rules = format_count(found.evaluated.size(), "rule") + " evaluated";
    if (!found.skipped.empty())
        rules += fmt::format(", {} skipped: {}", found.skipped.size(), findings::skipped_text(found.skipped));
    out.wrapped(rules + (found.findings.empty() ? "; nothing found" : ""), 2);
}

// A row per metric and node: the mean, the peak and a sparkline.
void write_nodes(Writer& out, const ReportModel& model) {
    if (model.grid.metrics.empty()) return;
    out.heading("Nodes");
    std::vector<std::vector<std::string>> rows = {{"", "node", "mean", "peak", "over time"}};
    size_t shown = std::min(model.nodes.size(), kMostNodes);
    for (const NodeMetric& metric : model.grid.metrics) {
        if (!is_drawn(model, kNodesSection, metric.id)) continue;
        double top = metric.top.value_or(0);
        for (double value : metric.values)
            if (!is_missing(value)) top = std::max(top, value);
        for (size_t node = 0; node < shown; ++node) {
            auto values = std::span(metric.values).subspan(node * model.grid.bins, model.grid.bins);
            rows.push_back(
                {node == 0 ? metric.label : std::string(), shortened(printable(model.nodes[node].name), 24),
                 format_quantity(metric.means[node], metric.unit),
                 format_quantity(metric.peaks[node], metric.unit), sparkline(values, kSparkWidth, top)});
        }
    }
    write_table(out, rows, "llrrl");
    if (const std::string text = not_drawn_text(model, kNodesSection); !text.empty()) out.wrapped(text, 2);
    if (shown < model.nodes.size())
        out.line(
            fmt::format("  … and {} more, in the page", format_count(model.nodes.size() - shown, "node")));
}

void write_coverage(Writer& out, const ReportModel& model) {
    const Coverage& coverage = model.coverage;
    out.heading("Coverage");
    if (!coverage.tables.empty()) {
        std::vector<std::vector<std::string>> rows(1, {"node"});
        rows[0].insert(rows[0].end(), coverage.tables.begin(), coverage.tables.end());
        for (size_t i = 0; i < std::min(coverage.nodes.size(), kMostNodes); ++i) {
            rows.push_back({shortened(printable(coverage.nodes[i].node), 24)});
            for (double share : coverage.nodes[i].shares) rows.back().push_back(format_coverage(share));
        }
        write_table(out, rows, "l" + std::string(coverage.tables.size(), 'r'));
    }
    for (const Gap& gap : std::span(coverage.gaps).first(std::min(coverage.gaps.size(), kMostShownEvents)))
        out.line(fmt::format("  gap: {} {} from {} for {}", printable(gap.node), gap.table,
                             format_elapsed(gap.start), format_duration(gap.seconds)));
    if (coverage.lost.empty()) out.line("  lost: nothing known");
    for (const std::string& text : coverage.lost) out.wrapped("lost: " + printable(text), 2);
}

void write_events(Writer& out, const ReportModel& model) {
    std::vector<const Event*> notable;
    for (const Event& event : model.events)
        if (event.severity != "info") notable.push_back(&event);
    if (notable.empty()) return;
    out.heading("Warnings");
    for (const Event* event : std::span(notable).first(std::min(notable.size(), kMostShownEvents)))
        out.line(
            shortened(fmt::format("  {:>8}  {}  {}: {}", format_elapsed(event->seconds),
                                  printable(event->node), printable(event->kind), printable(event->message)),
                      out.width()));
    if (notable.size() > kMostShownEvents)
        out.line(fmt::format("  … and {} more", notable.size() - kMostShownEvents));
}

}  // namespace

std::string render_terminal(const ReportModel& model, bool colour, int width) {
    Writer out(colour, static_cast<size_t>(std::max(width, 60)));
    write_header(out, model);
    if (!model.gpu && !model.score_sentence.empty()) out.wrapped(printable(model.score_sentence), 0);
    const bool findings_first = critical_findings(model) > 0;
    if (findings_first) write_findings(out, *model.findings, model.start);
    write_figures(out, model);
    if (model.gpu) write_score(out, *model.gpu);
    if (model.findings && !findings_first) write_findings(out, *model.findings, model.start);
    write_nodes(out, model);
    write_events(out, model);
    write_coverage(out, model);
    return out.take();
}

}  // namespace belay::report
