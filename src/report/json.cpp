#include "report/json.h"

#include "report/findings.h"
#include "report/json_parts.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::report {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json optional_value(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json optional_number(const std::optional<double>& value) {
    return value ? number(*value) : Json(nullptr);
}

std::string_view tone_name(Tone tone) {
    switch (tone) {
        case Tone::kGood:
            return "good";
        case Tone::kWarning:
            return "warning";
        case Tone::kBad:
            return "bad";
        case Tone::kNeutral:
            break;
    }
    return "neutral";
}

std::string_view kind_name(ChartKind kind) {
    switch (kind) {
        case ChartKind::kStack:
            return "stack";
        case ChartKind::kBand:
            return "band";
        case ChartKind::kSpread:
            return "spread";
        case ChartKind::kPoints:
            return "points";
        case ChartKind::kSteps:
            return "steps";
        case ChartKind::kLines:
            break;
    }
    return "lines";
}

Json job_json(const Job& job) {
    Json json = record::job_json(job);
    json.update({{"command", job.command},
                 {"exit_status", optional_value(job.exit_status)},
                 {"outcome", job.outcome},
                 {"failure", job.failure}});
    return json;
}

Json node_json(const NodeFacts& node) {
    return {{"name", node.name},
            {"cpus", optional_value(node.cpus)},
            {"cpus_allotted", optional_value(node.cpus_allotted)},
            {"memory_bytes", optional_value(node.memory_bytes)},
            {"tasks", optional_value(node.tasks)}};
}

Json training_json(const std::optional<Training>& training) {
    if (!training) return nullptr;
    return {{"benchmark", training->benchmark},
            {"steps", optional_value(training->steps)},
            {"epochs", number(training->epochs)},
            {"final_loss", number(training->final_loss)},
            {"metric_label", training->metric_label},
            {"final_metric", number(training->final_metric)},
            {"best_metric", number(training->best_metric)},
            {"target", number(training->target)},
            {"target_reached", optional_value(training->target_reached)},
            {"seconds_to_target", number(training->seconds_to_target)},
            {"throughput_unit", training->throughput_unit},
            {"throughput_mean", number(training->throughput_mean)},
            {"throughput_peak", number(training->throughput_peak)}};
}

Json state_json(const State& state) {
    return {{"text", state.text}, {"tone", tone_name(state.tone)}};
}

Json figure_json(const KeyFigure& figure) {
    return {{"label", figure.label},
            {"value", figure.value},
            {"detail", figure.detail},
            {"tone", tone_name(figure.tone)},
            {"spark", numbers(figure.spark)}};
}

Json chart_json(const Chart& chart) {
    Json target = nullptr;
    if (chart.target) target = {{"label", chart.target->label}, {"value", number(chart.target->value)}};
    Json series = Json::array();
    for (const Curve& one : chart.series)
        series.push_back({{"label", one.label},
                          {"node", one.node},
                          {"colour", one.colour},
                          {"dashed", one.dashed},
                          {"below", one.below},
                          {"mean", number(one.mean)},
                          {"values", numbers(one.values)}});
    return {{"id", chart.id},
            {"section", chart.section},
            {"title", chart.title},
            {"note", chart.note},
            {"unit", chart.unit},
            {"plots", chart.plots},
            {"kind", kind_name(chart.kind)},
            {"top", optional_number(chart.top)},
            {"target", std::move(target)},
            {"seconds", numbers(chart.seconds)},
            {"series", std::move(series)}};
}

Json coverage_json(const Coverage& coverage) {
    Json nodes = Json::array();
    for (const NodeCoverage& node : coverage.nodes)
        nodes.push_back({{"node", node.node}, {"shares", numbers(node.shares)}});
    Json gaps = Json::array();
    for (const Gap& gap : coverage.gaps)
        gaps.push_back({{"node", gap.node},
                        {"table", gap.table},
                        {"start", number(gap.start)},
                        {"seconds", number(gap.seconds)}});
    return {{"total", number(coverage.total)},   {"tables", coverage.tables},
            {"nodes", std::move(nodes)},         {"gaps", std::move(gaps)},
            {"gaps_total", coverage.gaps_total}, {"lost", coverage.lost}};
}

Json event_json(const Event& event) {
    return {{"seconds", number(event.seconds)},   {"node", event.node},
            {"task", optional_value(event.task)}, {"kind", event.kind},
            {"severity", event.severity},         {"message", event.message}};
}

Json group_json(const FactGroup& group) {
    Json facts = Json::array();
    for (const Fact& fact : group.facts) facts.push_back({{"name", fact.name}, {"value", fact.value}});
    return {{"title", group.title}, {"facts", std::move(facts)}};
}

Json not_drawn_json(const NotDrawn& one) {
    return {{"id", one.id}, {"section", one.section}, {"title", one.title}, {"why", one.why}};
}

Json section_json(const Section& section) {
    return {{"id", section.id}, {"title", section.title}, {"note", section.note}};
}

}  // namespace

nlohmann::ordered_json to_json(const ReportModel& model) {
    return {{"job", job_json(model.job)},
            {"start", core::format_time(model.start)},
            {"seconds", number(model.seconds)},
            {"ranks", model.ranks},
            {"nodes", list(model.nodes, node_json)},
            {"training", training_json(model.training)},
            {"summary", model.summary},
            {"figures", list(model.figures, figure_json)},
            {"sections", list(model.sections, section_json)},
            {"charts", list(model.charts, chart_json)},
            {"grid", grid_json(model.grid)},
            {"not_drawn", list(model.not_drawn, not_drawn_json)},
            {"events", list(model.events, event_json)},
            {"events_total", model.events_total},
            {"coverage", coverage_json(model.coverage)},
            {"gpu", gpu_json(model.gpu)},
            {"score_sentence", model.score_sentence},
            {"state", state_json(job_state(model))},
            {"findings", findings_json(model.findings, model.start)},
            {"facts", list(model.facts, group_json)},
            {"producer", model.producer}};
}

std::string script_safe_json(const nlohmann::ordered_json& json) {
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string safe;
    safe.reserve(text.size() + text.size() / 64);
    for (size_t i = 0; i < text.size(); ++i) {
        std::string_view rest(text.data() + i, text.size() - i);
        if (text[i] == '<') {
            safe += "\\u003c";
        } else if (text[i] == '>') {
            safe += "\\u003e";
        } else if (text[i] == '&') {
            safe += "\\u0026";
        } else if (rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9")) {
            safe += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            safe += text[i];
        }
    }
    return safe;
}

std::string escape_html(std::string_view text) {
    std::string escaped;
    for (char c : text) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

std::string base64(std::string_view bytes) {
    static constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes.size(); i += 3) {
        size_t count = std::min<size_t>(3, bytes.size() - i);
        uint32_t group = 0;
        for (size_t j = 0; j < 3; ++j)
            group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0U);
        for (size_t j = 0; j < 4; ++j) text += j <= count ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

}  // namespace belay::report
