// Which handler a request goes to. Routes are rows of a table, from which the description of the interface can be made too.
//
//   std::vector<Route> routes = {
//       {.method = Method::kGet, .pattern = "/jobs/{job:number}/report", .handler = show_report, .doc = "The report of a job.",
//        .parameters = {{"job", Place::kPath, "its number"}, {"lang", Place::kQuery, "language of the page"}}},
//   };
//
// A segment of a pattern is a word, {name} for any one, {name:number} for a whole number, or at the end {name:path} for all
// that follows, at least one. Of several patterns that fit, the first one in that order counts, segment by segment; a method that
// this one does not have is answered with 405, also where another pattern would have it.
#pragma once

#include "core/error.h"
#include "http/request.h"
#include "http/response.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::http {

// A function or coroutine of a request. It is called by several threads at once.
class Handler {
  public:
    Handler() = default;
    template <typename Function>
        requires std::same_as<std::invoke_result_t<const Function&, Request&>, Task<Response>>
    Handler(Function function) : call_(std::move(function)) {}  // NOLINT(google-explicit-constructor)
    // One that does not wait for anything.
    template <typename Function>
        requires std::same_as<std::invoke_result_t<const Function&, Request&>, Response>
    Handler(Function function)  // NOLINT(google-explicit-constructor)
        : call_([function = std::move(function)](Request& request) -> Task<Response> {
              co_return function(request);
          }) {}

    // The handler must live until the task has ended.
    Task<Response> operator()(Request& request) const { return call_(request); }
    explicit operator bool() const { return static_cast<bool>(call_); }

  private:
    std::function<Task<Response>(Request&)> call_;
};

enum class Place { kPath, kQuery };

struct ParameterDoc {
    std::string name;
    Place place = Place::kQuery;
    std::string doc;
    bool required = false;  // those of the path always are
};

enum class BodyMode {
    kWhole,     // in Request::body, before the handler is called
    kInPieces,  // by Request::next_piece()
};

struct Route {
    Method method = Method::kGet;
    std::string pattern;
    Handler handler;
    uint64_t body_limit = 0;  // bytes; 0: no body
    BodyMode body_mode = BodyMode::kWhole;
    bool needs_identity = true;
    std::string doc;
    std::vector<ParameterDoc> parameters = {};
    std::string takes = "application/json";  // the media type of its body, where it has one
    std::string gives = "application/json";  // of its answer; empty: it has no body
};

enum class SegmentKind : uint8_t { kWord, kNumber, kText, kRest };  // in the order in which they are tried

struct Segment {
    SegmentKind kind = SegmentKind::kWord;
    std::string text;  // the word, or the name
    bool operator==(const Segment&) const = default;
};
// "/jobs/{job:number}". Errors: kBadInput.
core::Result<std::vector<Segment>> parse_pattern(std::string_view pattern);

struct Match {
    const Route* route = nullptr;
    size_t index = 0;  // of the route
    Request::Captures captures;
};

class Router {
  public:
    // Errors: kBadInput for patterns that are wrong or the same, routes without handler or doc, and parameters of the path that
    // are not documented.
    static core::Result<Router> create(std::vector<Route> routes);

    // HEAD goes to a route of GET where it has none of its own. Errors: 404; 405 with what is allowed.
    Checked<Match> find(Method method, const Target& target) const;
    std::span<const Route> routes() const { return routes_; }

  private:
    struct Shape {
        std::vector<Segment> segments;
        std::map<Method, size_t> routes;
    };
    core::Result<> add(size_t index);
    Match match_of(const Target& target, size_t index) const;

    std::vector<Route> routes_;
    std::vector<std::vector<Segment>> patterns_;  // of the routes
    std::vector<Shape> shapes_;                   // those that are tried first come first
};

}  // namespace belay::http
