#include "metrics/text_form.h"

#include "core/text.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::metrics {

namespace {

struct MediaType {
    TextForm form;
    std::string_view type;
    std::string_view subtype;
    std::string_view version;
    std::string_view content_type;
};
constexpr MediaType kMediaTypes[] = {
    {TextForm::kOpenMetrics, "application", "openmetrics-text", "1.0.0",
     "application/openmetrics-text; version=1.0.0; charset=utf-8"},
    {TextForm::kPrometheus, "text", "plain", "0.0.4", "text/plain; version=0.0.4; charset=utf-8"},
};

// One of the ranges of the header.
struct Range {
    std::string type, subtype;
    std::string version;  // "" for any
    double quality = 1;
};

// The text up to `separator` outside of quotes, taken off `text` with it.
std::string_view take_until(std::string_view& text, char separator) {
    bool quoted = false;
    size_t at = 0;
    for (; at < text.size() && (quoted || text[at] != separator); ++at) {
        if (text[at] == '"') quoted = !quoted;
        if (text[at] == '\\' && quoted && at + 1 < text.size()) ++at;
    }
    std::string_view part = core::trim(text.substr(0, at));
    text.remove_prefix(std::min(at + 1, text.size()));
    return part;
}

std::string unquoted(std::string_view text) {
    if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return std::string(text);
    std::string out;
    for (size_t at = 1; at + 1 < text.size(); ++at) {
        if (text[at] == '\\' && at + 2 < text.size()) ++at;
        out += text[at];
    }
    return out;
}

// 0 to 1 with at most three decimals; nothing for anything else.
std::optional<double> quality_of(std::string_view text) {
    const bool plain = !text.empty() && text.size() <= 5 &&
                       std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    auto value = plain ? core::parse_number<double>(text) : std::nullopt;
    return value && *value <= 1 ? value : std::nullopt;
}

// Nothing for what is not a range.
std::optional<Range> parse_range(std::string_view text) {
    std::string_view media = take_until(text, ';');
    const size_t slash = media.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    Range range{.type = core::lower_case(media.substr(0, slash)),
                .subtype = core::lower_case(media.substr(slash + 1)),
                .version = {}};
    while (!text.empty()) {
        std::string_view parameter = take_until(text, ';');
        const size_t equals = parameter.find('=');
        if (equals == std::string_view::npos) continue;
        std::string name = core::lower_case(core::trim(parameter.substr(0, equals)));
        std::string value = unquoted(core::trim(parameter.substr(equals + 1)));
        if (name == "version") range.version = value;
        if (name != "q") continue;
        auto quality = quality_of(value);
        if (!quality) return std::nullopt;
        range.quality = *quality;
    }
    return range;
}

// How exactly a range says this type: 0 where it does not.
int precision_of(const Range& range, const MediaType& media) {
    const bool any_type = range.type == "*";
    const bool any_subtype = range.subtype == "*";
    if ((!any_type && range.type != media.type) || (!any_subtype && range.subtype != media.subtype)) return 0;
    if (any_type && !any_subtype) return 0;
    if (any_subtype) return any_type ? 1 : 2;
    if (range.version.empty()) return 3;
    return range.version == media.version ? 4 : 0;
}

// What is known of how much a type is wanted.
struct Wish {
    int precision = 0;  // 0: nothing
    double quality = 0;
};

Wish wish_for(const MediaType& media, const std::vector<Range>& ranges) {
    Wish wish;
    for (const Range& range : ranges) {
        const int precision = precision_of(range, media);
        if (precision == 0 || precision < wish.precision) continue;
        if (precision > wish.precision) wish = {precision, 0};
        wish.quality = std::max(wish.quality, range.quality);
    }
    return wish;
}

}  // namespace

std::string_view content_type(TextForm form) {
    return kMediaTypes[static_cast<size_t>(form)].content_type;
}

TextForm negotiate(std::string_view accept) {
    std::vector<Range> ranges;
    while (!accept.empty())
        if (auto range = parse_range(take_until(accept, ','))) ranges.push_back(std::move(*range));
    const Wish open_metrics = wish_for(kMediaTypes[0], ranges);
    const Wish prometheus = wish_for(kMediaTypes[1], ranges);
    constexpr int kNamed = 3;
    const bool wanted = open_metrics.precision >= kNamed && open_metrics.quality > 0 &&
                        open_metrics.quality >= prometheus.quality;
    return wanted ? TextForm::kOpenMetrics : TextForm::kPrometheus;
}

}  // namespace belay::metrics
