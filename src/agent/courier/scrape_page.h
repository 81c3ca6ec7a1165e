// What who scrapes the agent gets: /metrics and /healthz. Values only; http_listener.h speaks HTTP.
#pragma once

#include "metrics/model.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::agent {

struct ScrapeRequest {
    std::string_view method;
    std::string_view path;         // without what stands behind "?"
    std::string_view accept = {};  // value of the header; empty where there is none
    bool has_body = false;
};

struct ScrapeAnswer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body = {};  // also for HEAD, which is then sent without it
};

// The methods that are taken, as the header Allow has them.
inline constexpr std::string_view kScrapeMethods = "GET, HEAD";

class ScrapePage {
  public:
    // Called for each request, from one thread.
    using Families = std::function<std::vector<metrics::Family>()>;
    // Why the agent does not work; nothing while it does.
    using Trouble = std::function<std::optional<std::string>()>;
    ScrapePage(Families families, Trouble trouble)
        : families_(std::move(families)), trouble_(std::move(trouble)) {}

    ScrapeAnswer answer(const ScrapeRequest& request) const;

  private:
    struct Route;
    static const Route kRoutes[];

    ScrapeAnswer show_metrics(const ScrapeRequest& request) const;
    ScrapeAnswer tell_health(const ScrapeRequest& request) const;

    Families families_;
    Trouble trouble_;
};

}  // namespace belay::agent
