#include "http/server/connection.h"

#include "core/log.h"
#include "http/server/exchange.h"

#include <exception>
#include <utility>

namespace belay::http {

namespace {

constexpr size_t kReadForHead = 4096;

Refusal head_too_long(size_t limit) {
    return {431, fmt::format("the head of the request is longer than {} bytes", limit), {}, {}};
}

}  // namespace

Connection::Connection(Service& service, std::shared_ptr<Stream> stream)
    : service_(service), wire_(std::move(stream), service.meters) {}

void Connection::start(std::function<void()> on_end) {
    ++service_.meters.open;
    task_.emplace(serve());
    task_->start(scheduler(), [this, on_end = std::move(on_end)] {
        try {
            task_->result();
        } catch (const std::exception& failure) {
            core::log_error("a connection was cut: {}", failure.what());
        }
        wire_.stream().close();
        --service_.meters.open;
        on_end();
    });
}

void Connection::finish() {
    wire_.stream().stop_pause();
    if (waits_for_request_) wire_.stream().close();
}

void Connection::cut() {
    wire_.stream().close();
}

Task<bool> Connection::serve() {
    const IoResult greeted = co_await wire_.handshake(service_.options.limits.header_timeout);
    bool goes_on = greeted.ok();
    while (goes_on) {
        Checked<std::optional<Head>> head = co_await read_head();
        if (head && !*head) break;
        Exchange exchange(service_, wire_);
        Checked<Head> taken = head ? Checked<Head>(std::move(**head)) : std::unexpected(head.error());
        goes_on = co_await exchange.run(std::move(taken));
    }
    co_return true;
}

Checked<std::optional<Head>> Connection::head_that_has_come(HeadScanner& scanner) {
    const size_t limit = service_.options.limits.header_bytes;
    const auto end = scanner.scan(wire_.input.view());
    if (!end) return std::unexpected(end.error());
    if (end->value_or(wire_.input.size()) > limit) return std::unexpected(head_too_long(limit));
    if (!*end) return std::nullopt;
    auto head = parse_head(wire_.input.view().substr(0, **end));
    if (!head) return std::unexpected(head.error());
    wire_.input.consume(**end);
    return std::optional(std::move(*head));
}

Task<Checked<std::optional<Head>>> Connection::read_head() {
    const Limits& limits = service_.options.limits;
    HeadScanner scanner;
    core::Duration left = limits.header_timeout;
    for (;;) {
        auto head = head_that_has_come(scanner);
        if (!head || *head) {
            first_ = false;
            co_return std::move(head);
        }
        const bool idle = wire_.input.empty();
        if (idle && service_.stopping) co_return std::nullopt;
        waits_for_request_ = idle;
        const core::Duration before = core::system_clock().monotonic();
        const IoResult result =
            co_await wire_.read(kReadForHead, idle && !first_ ? limits.idle_timeout : left);
        waits_for_request_ = false;
        if (!idle || first_) left -= core::system_clock().monotonic() - before;
        if (!result.ok()) co_return std::nullopt;  // nobody is there to be answered
    }
}

}  // namespace belay::http
