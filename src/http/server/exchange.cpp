#include "http/server/exchange.h"

#include "core/log.h"
#include "http/gate.h"
#include "http/response_head.h"

#include <exception>
#include <utility>

namespace belay::http {

namespace {

// For requests that no route takes: what is drained at most.
constexpr uint64_t kLimitWithoutRoute = size_t{64} << 10;

}  // namespace

Exchange::Exchange(Service& service, Wire& wire)
    : service_(service),
      wire_(wire),
      begun_(core::system_clock().now()),
      begun_monotonic_(core::system_clock().monotonic()),
      sent_before_(wire.sent()) {
    request_.peer = wire.stream().peer();
    request_.tls = wire.stream().is_tls();
    request_.workers = &service.workers;
}

Checked<Match> Exchange::admit() {
    const Options& options = service_.options;
    request_.method = head_->method;
    request_.headers = std::move(head_->headers);
    auto target = parse_target(head_->target);
    if (!target) return std::unexpected(target.error());
    request_.target = std::move(*target);
    if (auto known = check_host(request_.headers.find("host").value_or(""), options.hosts); !known)
        return std::unexpected(known.error());
    auto match = service_.router.find(request_.method, request_.target);
    if (!match) return match;
    auto trusted = check_origin(request_.method, request_.headers, request_.tls, options.origins);
    if (!trusted) return std::unexpected(trusted.error());
    return match;
}

Task<Response> Exchange::dispatch() {
    auto match = admit();
    if (!match) co_return std::unexpected(match.error());
    match_ = std::move(*match);
    const Route& route = *match_->route;
    request_.captures = std::move(match_->captures);
    body_.emplace(wire_, *head_, route.body_limit, service_.options.limits);
    if (route.needs_identity) {
        auto identity = co_await service_.options.authenticate(request_);
        if (!identity) co_return std::unexpected(identity.error());
        request_.identity = std::move(*identity);
    }
    auto announced = body_->check_announced();
    if (!announced) co_return std::unexpected(announced.error());
    request_.source = &*body_;
    if (route.body_mode == BodyMode::kWhole) {
        auto body = co_await body_->read_all();
        if (!body) co_return std::unexpected(std::move(body.error()));
        request_.body = std::move(*body);
    }
    co_return co_await route.handler(request_);
}

Task<Response> Exchange::answer() {
    std::string failure;
    try {
        Response response = co_await dispatch();
        const auto checked = check_response(response);
        if (checked) co_return std::move(response);
        failure = checked.error().headline();
    } catch (const std::exception& thrown) {
        failure = thrown.what();
    } catch (...) {
        failure = "what was thrown is not known";
    }
    const std::string_view path = match_ ? std::string_view(match_->route->pattern) : "no route";
    core::log_error("the handler of {} failed: {}", path, failure);
    co_return response_to(Refusal{500, "the server failed", "its log says why", {}});
}

bool Exchange::may_go_on() const {
    if (!head_ || !head_->keep_alive || service_.stopping) return false;
    return !body_->is_broken() && !body_->refusal() && (body_->is_done() || body_->can_be_drained());
}

Task<bool> Exchange::run(Checked<Head> head) {
    if (!head) co_return co_await respond(response_to(head.error()));
    head_ = std::move(*head);
    Response response = co_await answer();
    if (!body_) body_.emplace(wire_, *head_, kLimitWithoutRoute, service_.options.limits);
    if (body_->refusal()) response = response_to(*body_->refusal());
    co_return co_await respond(std::move(response));
}

Task<bool> Exchange::respond(Response response) {
    if (body_ && body_->is_broken()) {  // nobody is there
        account(response.status, false);
        co_return false;
    }
    const bool head_only = head_ && head_->method == Method::kHead;
    const bool goes_on = may_go_on();
    std::string head = encode_head(response, {.keep_alive = goes_on,
                                              .needed_identity = match_ && match_->route->needs_identity,
                                              .now = core::system_clock().now()});
    bool whole = false;
    try {
        ResponseWriter writer(wire_, service_);
        whole = co_await writer.send(std::move(head), response, head_only);
    } catch (const std::exception& failure) {
        core::log_error("a response was cut: {}", failure.what());
    }
    account(response.status, whole);
    if (!whole) co_return false;
    if (goes_on) {
        const bool drained = co_await body_->drain();
        if (drained) co_return true;
    }
    co_await wire_.say_goodbye(!body_ || !body_->is_done() || !wire_.input.empty());
    co_return false;
}

void Exchange::account(int status, bool whole) const {
    const core::Duration took = core::system_clock().monotonic() - begun_monotonic_;
    service_.meters.count_request(match_ ? match_->index : service_.router.routes().size(), status, took);
    if (!service_.options.access_log) return;
    service_.options.access_log({.time = begun_,
                                 .peer = request_.peer,
                                 .user = request_.identity ? request_.identity->name : "",
                                 .method = head_ ? std::string(method_name(head_->method)) : "",
                                 .path = request_.target.path,
                                 .pattern = match_ ? match_->route->pattern : "",
                                 .status = status,
                                 .received_bytes = body_ ? body_->received() : 0,
                                 .sent_bytes = wire_.sent() - sent_before_,
                                 .took = took,
                                 .whole = whole,
                                 .tls = request_.tls});
}

}  // namespace belay::http
