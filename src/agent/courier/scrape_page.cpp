#include "agent/courier/scrape_page.h"

#include "core/error.h"
#include "metrics/text_encoder.h"
#include "metrics/text_form.h"

#include <algorithm>
#include <iterator>

namespace belay::agent {

struct ScrapePage::Route {
    std::string_view path;
    ScrapeAnswer (ScrapePage::*answer)(const ScrapeRequest&) const;
};

const ScrapePage::Route ScrapePage::kRoutes[] = {
    {"/metrics", &ScrapePage::show_metrics},
    {"/healthz", &ScrapePage::tell_health},
};

ScrapeAnswer ScrapePage::answer(const ScrapeRequest& request) const {
    const auto* route = std::ranges::find(kRoutes, request.path, &Route::path);
    if (route == std::end(kRoutes)) return {.status = 404, .body = "there are /metrics and /healthz\n"};
    if (request.method != "GET" && request.method != "HEAD")
        return {.status = 405, .body = "only GET and HEAD\n"};
    if (request.has_body) return {.status = 413, .body = "no body is taken\n"};
    return (this->*route->answer)(request);
}

ScrapeAnswer ScrapePage::show_metrics(const ScrapeRequest& request) const {
    const metrics::TextForm form = metrics::negotiate(request.accept);
    const std::vector<metrics::Family> families = families_();
    auto text = metrics::encode_text(families, form);
    if (!text) return {.status = 500, .body = text.error().headline() + "\n"};
    return {.content_type = std::string(metrics::content_type(form)), .body = std::move(*text)};
}

ScrapeAnswer ScrapePage::tell_health(const ScrapeRequest& /*request*/) const {
    if (auto trouble = trouble_()) return {.status = 503, .body = *trouble + "\n"};
    return {.body = "ok\n"};
}

}  // namespace belay::agent
