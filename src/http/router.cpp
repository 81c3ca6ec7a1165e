#include "http/router.h"

#include "core/text.h"

#include <algorithm>
#include <array>
#include <set>

namespace belay::http {

namespace {

struct KindName {
    std::string_view name;
    SegmentKind kind;
};
constexpr std::array kKindNames = {KindName{"number", SegmentKind::kNumber},
                                   KindName{"path", SegmentKind::kRest}};

bool is_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

core::Result<Segment> parse_segment(std::string_view text, std::string_view pattern) {
    if (!text.starts_with('{')) {
        if (text.empty() || text.find_first_of("{}%?#") != std::string_view::npos)
            return core::bad_input("the pattern {} has the part \"{}\"", pattern, text)
                .hint("write a word or {name}");
        return Segment{SegmentKind::kWord, std::string(text)};
    }
    if (!text.ends_with('}')) return core::bad_input("the pattern {} has a brace without its other", pattern);
    const auto parts = core::split(text.substr(1, text.size() - 2), ':');
    if (!is_name(parts[0]))
        return core::bad_input("the pattern {} has a part without a name in a-z, 0-9 and _", pattern);
    Segment segment{SegmentKind::kText, std::string(parts[0])};
    if (parts.size() == 1) return segment;
    const auto kind = std::ranges::find(kKindNames, parts[1], &KindName::name);
    if (parts.size() > 2 || kind == kKindNames.end())
        return core::bad_input("the pattern {} has a part of a type that is not known", pattern)
            .hint("types: number, path");
    segment.kind = kind->kind;
    return segment;
}

// 17, but not 017: one number has one address.
bool is_number(std::string_view text) {
    return core::parse_number<uint64_t>(text).has_value() && (text.size() == 1 || text.front() != '0');
}

bool fits(const std::vector<Segment>& pattern, const std::vector<std::string>& segments) {
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (i >= segments.size()) return false;
        switch (pattern[i].kind) {
            case SegmentKind::kWord:
                if (pattern[i].text != segments[i]) return false;
                break;
            case SegmentKind::kNumber:
                if (!is_number(segments[i])) return false;
                break;
            case SegmentKind::kText:
                break;
            case SegmentKind::kRest:
                return true;
        }
    }
    return pattern.size() == segments.size();
}

// Names do not tell patterns apart.
bool same_shape(const std::vector<Segment>& a, const std::vector<Segment>& b) {
    return std::ranges::equal(a, b, [](const Segment& x, const Segment& y) {
        return x.kind == y.kind && (x.kind != SegmentKind::kWord || x.text == y.text);
    });
}

bool is_tried_before(const std::vector<Segment>& a, const std::vector<Segment>& b) {
    return std::ranges::lexicographical_compare(
        a, b, [](const Segment& x, const Segment& y) { return x.kind < y.kind; });
}

core::Result<> check_route(const Route& route, const std::vector<Segment>& segments) {
    if (!route.handler) return core::bad_input("the route {} has no handler", route.pattern);
    if (route.doc.empty()) return core::bad_input("the route {} has no line of documentation", route.pattern);
    std::set<std::string> names, documented;
    for (const Segment& segment : segments)
        if (segment.kind != SegmentKind::kWord && !names.insert(segment.text).second)
            return core::bad_input("the pattern {} has {} twice", route.pattern, segment.text);
    for (const ParameterDoc& parameter : route.parameters)
        if (parameter.place == Place::kPath) documented.insert(parameter.name);
    if (names != documented)
        return core::bad_input("the parameters of {} are not those that its pattern names", route.pattern);
    return {};
}

}  // namespace

core::Result<std::vector<Segment>> parse_pattern(std::string_view pattern) {
    if (!pattern.starts_with('/'))
        return core::bad_input("the pattern \"{}\" does not begin with /", pattern);
    std::vector<Segment> segments;
    if (pattern == "/") return segments;
    for (std::string_view part : core::split(pattern.substr(1), '/')) {
        if (!segments.empty() && segments.back().kind == SegmentKind::kRest)
            return core::bad_input("the pattern {} goes on behind a part that takes all the rest", pattern);
        BELAY_TRY(segment, parse_segment(part, pattern));
        segments.push_back(std::move(segment));
    }
    return segments;
}

core::Result<> Router::add(size_t index) {
    const Route& route = routes_[index];
    BELAY_TRY(segments, parse_pattern(route.pattern));
    BELAY_CHECK(check_route(route, segments));
    auto shape =
        std::ranges::find_if(shapes_, [&](const Shape& s) { return same_shape(s.segments, segments); });
    if (shape == shapes_.end()) shape = shapes_.insert(shapes_.end(), Shape{segments, {}});
    patterns_.push_back(std::move(segments));
    if (!shape->routes.emplace(route.method, index).second)
        return core::bad_input("two routes are {} {}", method_name(route.method), route.pattern);
    return {};
}

core::Result<Router> Router::create(std::vector<Route> routes) {
    Router router;
    router.routes_ = std::move(routes);
    for (size_t index = 0; index < router.routes_.size(); ++index) BELAY_CHECK(router.add(index));
    std::ranges::stable_sort(router.shapes_, is_tried_before, &Shape::segments);
    return router;
}

Match Router::match_of(const Target& target, size_t index) const {
    Match match{.route = &routes_[index], .index = index, .captures = {}};
    const std::vector<Segment>& pattern = patterns_[index];
    for (size_t i = 0; i < pattern.size(); ++i) {
        const Segment& segment = pattern[i];
        if (segment.kind == SegmentKind::kWord) continue;
        std::string value = target.segments[i];
        if (segment.kind == SegmentKind::kRest)
            for (size_t next = i + 1; next < target.segments.size(); ++next)
                value += "/" + target.segments[next];
        match.captures.emplace_back(segment.text, std::move(value));
    }
    return match;
}

Checked<Match> Router::find(Method method, const Target& target) const {
    const auto shape =
        std::ranges::find_if(shapes_, [&](const Shape& s) { return fits(s.segments, target.segments); });
    if (shape == shapes_.end()) return refuse(404, "nothing is at this address");
    if (target.ends_with_slash && shape->segments.back().kind != SegmentKind::kRest)
        return refuse(404, "nothing is at this address", "leave the last / away");
    auto found = shape->routes.find(method);
    if (found == shape->routes.end() && method == Method::kHead) found = shape->routes.find(Method::kGet);
    if (found != shape->routes.end()) return match_of(target, found->second);
    std::string allow;
    for (const auto& [allowed, index] : shape->routes) {
        allow += allow.empty() ? "" : ", ";
        allow += method_name(allowed);
        if (allowed == Method::kGet && !shape->routes.contains(Method::kHead)) allow += ", HEAD";
    }
    return std::unexpected(Refusal{405, "the method is not possible at this address", {}, allow});
}

uint64_t Request::captured_number(std::string_view name) const {
    return core::parse_number<uint64_t>(captured(name)).value_or(0);
}

}  // namespace belay::http
