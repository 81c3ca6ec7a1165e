#include "metrics/remote/series.h"

#include "core/utf8.h"
#include "metrics/number_text.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace belay::metrics::remote {

namespace {

using PointsByLabels = std::map<Labels, std::vector<Point>>;

void add_point(PointsByLabels& all, const Labels& labels, std::string name, const Label& more, Point point) {
    Labels whole = labels;
    whole.push_back({std::string(kNameLabel), std::move(name)});
    if (!more.name.empty()) whole.push_back(more);
    std::ranges::sort(whole);
    all[std::move(whole)].push_back(point);
}

void add_histogram(PointsByLabels& all, const Labels& labels, const std::string& name,
                   const Histogram& histogram, int64_t time) {
    for (size_t i = 0; i < histogram.counts.size(); ++i) {
        const double bound =
            i < histogram.bounds.size() ? histogram.bounds[i] : std::numeric_limits<double>::infinity();
        add_point(all, labels, name + "_bucket", {"le", bound_text(bound)},
                  {time, static_cast<double>(histogram.counts[i])});
    }
    add_point(all, labels, name + "_count", {}, {time, static_cast<double>(histogram.counts.back())});
    if (histogram.sum) add_point(all, labels, name + "_sum", {}, {time, *histogram.sum});
}

Labels with_external(const Labels& labels, const Labels& external) {
    Labels all = labels;
    for (const Label& label : external)
        if (std::ranges::find(labels, label.name, &Label::name) == labels.end()) all.push_back(label);
    return identity_of(all);
}

void sort_points(std::vector<Point>& points) {
    std::ranges::stable_sort(points, {}, &Point::milliseconds);
    size_t kept = 0;
    for (size_t i = 0; i < points.size(); ++i)
        if (i + 1 == points.size() || points[i].milliseconds != points[i + 1].milliseconds)
            points[kept++] = points[i];
    points.resize(kept);
}

}  // namespace

core::Result<std::vector<Series>> series_of(std::span<const Family> families, core::Time now,
                                            const Labels& external) {
    BELAY_CHECK(core::with_context(check_labels(external), "labels of the site"));
    PointsByLabels all;
    for (const Family& family : families) {
        BELAY_CHECK(check_name(family));
        for (const Sample& sample : family.samples) {
            BELAY_CHECK(check_sample(family, sample));
            const Labels labels = with_external(sample.labels, external);
            const int64_t time = milliseconds_of(sample.time.value_or(now));
            if (const auto* histogram = std::get_if<Histogram>(&sample.value))
                add_histogram(all, labels, family.name, *histogram, time);
            else
                add_point(all, labels, family.name, {}, {time, std::get<double>(sample.value)});
        }
    }
    std::vector<Series> series;
    series.reserve(all.size());
    while (!all.empty()) {
        auto node = all.extract(all.begin());
        sort_points(node.mapped());
        series.push_back({std::move(node.key()), std::move(node.mapped())});
    }
    return series;
}

std::vector<Metadata> metadata_of(std::span<const Family> families) {
    std::vector<Metadata> all;
    for (const Family& family : families)
        all.push_back({family.name, family.type, core::to_valid_utf8(family.help), family.unit});
    return all;
}

}  // namespace belay::metrics::remote
