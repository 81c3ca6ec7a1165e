#include "core/fetch/http.h"

#include "core/deadline.h"
#include "core/fetch/curl_api.h"
#include "core/fetch/curl_error.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <curl/curl.h>
#include <limits>
#include <system_error>
#include <utility>

namespace belay::core::fetch {

namespace {

constexpr size_t kMaxHeaderBytes = size_t{256} << 10;
constexpr size_t kErrorBodyBytes = size_t{64} << 10;
constexpr int kMaxTriesInAll = 100;  // also with progress between them
constexpr long kMaxRedirects = 10;
constexpr Duration kStopLooks = std::chrono::milliseconds(100);  // between two looks, in a delay

// What holds a handle, a list or a URL of libcurl has loaded it.
const CurlApi& curl() {
    return **curl_api();
}

struct CurlFree {
    void operator()(CURL* handle) const { curl().easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl().slist_free_all(list); }
    void operator()(CURLU* url) const { curl().url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, CurlFree>;

std::string url_part(std::string_view url, CURLUPart part) {
    if (!curl_api()) return {};
    CurlUrl parsed(curl().url());
    if (!parsed || curl().url_set(parsed.get(), CURLUPART_URL, std::string(url).c_str(), 0) != CURLUE_OK)
        return {};
    char* text = nullptr;
    if (curl().url_get(parsed.get(), part, &text, 0) != CURLUE_OK || text == nullptr) return {};
    std::string out(text);
    curl().free(text);
    return out;
}

// One transfer: what its callbacks fill.
struct Transfer {
    CURL* handle = nullptr;
    HttpResponse response;
    DownloadSink* sink = nullptr;
    size_t body_limit = 0;
    size_t header_bytes = 0;
    curl_off_t received = 0;  // of the body
    bool sink_ready = false;
    std::optional<Error> error;  // that ended it from our side

    const HttpOptions* options = nullptr;
    Clock* clock = nullptr;
    Duration slow_since{};         // when the time that is looked at began,
    curl_off_t slow_received = 0;  // with how many bytes
    bool too_slow = false;

    int status() const {
        long code = 0;
        curl().easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
        return static_cast<int>(code);
    }
    bool keep(Result<> result) {
        if (!result) error = result.error();
        return result.has_value();
    }
    bool take_header(std::string_view line);
    bool take_body(std::string_view bytes);
    bool go_on();
    Result<> prepare_sink();
};

bool Transfer::take_header(std::string_view line) {
    header_bytes += line.size();
    if (header_bytes > kMaxHeaderBytes)
        return keep(system_error("a response with {} bytes of headers", header_bytes));
    if (line.starts_with("HTTP/")) response.headers.clear();  // also after a redirect
    if (size_t colon = line.find(':'); colon != std::string_view::npos)
        response.headers[lower_case(trim(line.substr(0, colon)))].emplace_back(
            trim(line.substr(colon + 1, line.find_last_not_of("\r\n") - colon)));
    return true;
}

Result<> Transfer::prepare_sink() {
    if (sink_ready || sink->position() == 0) return {};
    if (status() == 200) return sink->restart();
    std::string expected = fmt::format("bytes {}-", sink->position());
    if (!response.header("content-range").starts_with(expected))
        return system_error("the server sent another range than was asked for: \"{}\"",
                            printable(response.header("content-range")));
    return {};
}

bool Transfer::take_body(std::string_view bytes) {
    received += static_cast<curl_off_t>(bytes.size());
    if (!go_on()) return false;
    if (sink != nullptr && (status() == 200 || status() == 206)) {
        if (!keep(prepare_sink())) return false;
        sink_ready = true;
        return keep(sink->write(bytes));
    }
    size_t limit = sink != nullptr || !(status() >= 200 && status() < 300) ? kErrorBodyBytes : body_limit;
    bool is_answer = sink == nullptr && status() >= 200 && status() < 300;
    if (is_answer && response.body.size() + bytes.size() > limit)
        return keep(system_error("a response of more than {} bytes", limit));
    response.body.append(bytes.substr(0, limit - std::min(limit, response.body.size())));
    return true;
}

// Called at least once a second.
bool Transfer::go_on() {
    if (options->stopped != nullptr && *options->stopped)
        return keep(system_error("stopped").because(Cause::kCancelled));
    if (sink == nullptr) return true;
    const Duration now = clock->monotonic();
    const Duration passed = now - slow_since;
    if (passed < options->slow_time) return true;
    too_slow = static_cast<double>(received - slow_received) <
               static_cast<double>(options->least_bytes_per_second) * to_seconds(passed);
    slow_since = now;
    slow_received = received;
    return !too_slow;
}

size_t on_header(char* data, size_t size, size_t count, void* user) {
    return static_cast<Transfer*>(user)->take_header({data, size * count}) ? size * count : 0;
}
size_t on_body(char* data, size_t size, size_t count, void* user) {
    return static_cast<Transfer*>(user)->take_body({data, size * count}) ? size * count
                                                                         : CURL_WRITEFUNC_ERROR;
}

int on_progress(void* user, curl_off_t /*total*/, curl_off_t /*received*/, curl_off_t /*to_send*/,
                curl_off_t /*sent*/) {
    return static_cast<Transfer*>(user)->go_on() ? 0 : 1;
}

long milliseconds(Duration duration) {
    return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

struct HttpClient::State {
    State(HttpOptions options_in, Clock& clock_in)
        : options(std::move(options_in)), clock(clock_in), random(options.seed) {
        if (curl_api()) handle.reset(curl().easy_init());
    }

    CURLcode perform(const HttpRequest& request, Transfer& transfer, const Deadline& deadline);
    void set_up(const HttpRequest& request, Transfer& transfer, char* why);
    // Sleeps before the next try; false if there is none, which must begin before `deadline`.
    bool wait(int next_try, std::string_view retry_after, const Deadline& deadline);
    Result<HttpResponse> run(const HttpRequest& request, DownloadSink* sink, size_t body_limit);

    HttpOptions options;
    Clock& clock;
    std::mt19937 random;
    std::unique_ptr<CURL, CurlFree> handle;
    std::string why;      // of the last transfer that failed
    int errno_value = 0;  // the same, where a connection could not be made
    bool told = false;    // of the first retry
};

std::string_view HttpResponse::header(const std::string& lower_case_name) const {
    auto found = headers.find(lower_case_name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second.front());
}

HttpClient::HttpClient(HttpOptions options, Clock& clock)
    : state_(std::make_unique<State>(std::move(options), clock)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

void HttpClient::State::set_up(const HttpRequest& request, Transfer& transfer, char* why_buffer) {
    CURL* easy = handle.get();
    auto set = curl().easy_setopt;
    curl().easy_reset(easy);
    transfer.handle = easy;
    const char* protocols = url_scheme(request.url) == "http" ? "http,https" : "https";
    set(easy, CURLOPT_URL, request.url.c_str());
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
    set(easy, CURLOPT_FOLLOWLOCATION, 1L);
    set(easy, CURLOPT_MAXREDIRS, kMaxRedirects);
    set(easy, CURLOPT_UNRESTRICTED_AUTH, 0L);
    set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
    set(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(easy, CURLOPT_LOW_SPEED_TIME,
        std::max(1L, static_cast<long>(std::ceil(to_seconds(options.stall_timeout)))));
    set(easy, CURLOPT_NOPROGRESS, 0L);
    set(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    set(easy, CURLOPT_XFERINFODATA, &transfer);
    set(easy, CURLOPT_HEADERFUNCTION, on_header);
    set(easy, CURLOPT_HEADERDATA, &transfer);
    set(easy, CURLOPT_WRITEFUNCTION, on_body);
    set(easy, CURLOPT_WRITEDATA, &transfer);
    set(easy, CURLOPT_ERRORBUFFER, why_buffer);
    set(easy, CURLOPT_BUFFERSIZE, 256L << 10);
    if (is_loopback(url_authority(request.url))) set(easy, CURLOPT_PROXY, "");
    // As curl(1) does; libcurl itself does not look at it.
    if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && *file != '\0')
        set(easy, CURLOPT_CAINFO, file);
    if (transfer.sink != nullptr && transfer.sink->position() > 0)
        set(easy, CURLOPT_RANGE, fmt::format("{}-", transfer.sink->position()).c_str());
}

CURLcode HttpClient::State::perform(const HttpRequest& request, Transfer& transfer,
                                    const Deadline& deadline) {
    char why_buffer[CURL_ERROR_SIZE] = "";
    transfer.options = &options;
    transfer.clock = &clock;
    transfer.slow_since = clock.monotonic();
    set_up(request, transfer, why_buffer);
    if (!deadline.is_never())
        curl().easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, std::max(1L, milliseconds(deadline.left())));
    std::unique_ptr<curl_slist, CurlFree> lines;
    auto add = [&](const std::string& line) {
        if (curl_slist* longer = curl().slist_append(lines.get(), line.c_str()); longer != nullptr) {
            (void)lines.release();
            lines.reset(longer);
        }
    };
    for (const auto& [name, value] : request.headers) add(name + ": " + value);
    if (!request.authorization.empty()) add("Authorization: " + request.authorization);
    curl().easy_setopt(handle.get(), CURLOPT_HTTPHEADER, lines.get());
    CURLcode code = curl().easy_perform(handle.get());
    transfer.response.status = transfer.status();
    char* url = nullptr;
    if (curl().easy_getinfo(handle.get(), CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK && url != nullptr)
        transfer.response.url = url;
    why = *why_buffer != '\0' ? why_buffer : curl().easy_strerror(code);
    // libcurl's own words stop at "Couldn't connect to server".
    long error = 0;
    if (code == CURLE_COULDNT_CONNECT) curl().easy_getinfo(handle.get(), CURLINFO_OS_ERRNO, &error);
    errno_value = static_cast<int>(error);
    if (errno_value != 0) why += fmt::format(": {}", std::generic_category().message(errno_value));
    if (transfer.too_slow)
        why = fmt::format("less than {} bytes per second came in {}", options.least_bytes_per_second,
                          format_duration(options.slow_time));
    curl().easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, nullptr);
    curl().easy_setopt(handle.get(), CURLOPT_HTTPHEADER, nullptr);
    return code;
}

bool HttpClient::State::wait(int next_try, std::string_view retry_after, const Deadline& deadline) {
    double jitter = std::uniform_real_distribution<double>(0.5, 1.5)(random);
    auto delay = retry_delay(options, next_try, retry_after, jitter, clock.now());
    if (!delay || *delay >= deadline.left()) return false;
    const Deadline end = Deadline::after(*delay, clock);
    auto is_stopped = [this] { return options.stopped != nullptr && *options.stopped; };
    while (!is_stopped() && !end.is_over()) {
        const Duration left = end.left();
        clock.sleep_until(clock.monotonic() +
                          (options.stopped == nullptr ? left : std::min(left, kStopLooks)));
    }
    return !is_stopped();
}

Result<HttpResponse> HttpClient::State::run(const HttpRequest& request, DownloadSink* sink,
                                            size_t body_limit) {
    BELAY_CHECK(curl_api());
    if (!handle) return system_error("libcurl cannot be started");
    const Deadline deadline =
        sink != nullptr ? Deadline::never() : Deadline::after(options.longest_get, clock);
    uint64_t furthest = sink != nullptr ? sink->position() : 0;
    int idle_tries = 0;
    for (int total = 1;; ++total) {
        Transfer transfer;
        transfer.sink = sink;
        transfer.body_limit = body_limit;
        CURLcode code = perform(request, transfer, deadline);
        if (transfer.error) return std::unexpected(*transfer.error);
        bool answered = code == CURLE_OK;
        if (answered && !fetch::worth_another_try(transfer.response.status))
            return std::move(transfer.response);
        // What came before a break counts as progress, so that a long download survives many of them. Not
        // what had come before: a server without ranges may break off at the same byte each time.
        const bool progress = sink != nullptr && sink->position() > furthest && !transfer.too_slow;
        if (sink != nullptr) furthest = std::max(furthest, sink->position());
        idle_tries = progress ? 1 : idle_tries + 1;
        bool last = idle_tries >= options.tries || total >= kMaxTriesInAll ||
                    (!answered && !transfer.too_slow && !worth_another_try(code));
        auto host = [&] { return printable(url_authority(request.url)); };
        auto unreached = [&] { return fmt::format("cannot reach {}: {}", host(), printable(why)); };
        if (!last && options.on_first_retry && !std::exchange(told, true))
            options.on_first_retry(answered ? fmt::format("{} answers {}", host(), transfer.response.status)
                                            : unreached());
        if (!last)
            last = !wait(idle_tries + 1, answered ? transfer.response.header("retry-after") : "", deadline);
        if (!last) continue;
        if (answered) return std::move(transfer.response);
        return system_error("{}", unreached())
            .because_of_errno(errno_value)
            .because(transfer.too_slow ? Cause::kTimedOut : cause_of(code, errno_value))
            .hint(transfer.too_slow ? "" : hint_of(code));
    }
}

Result<HttpResponse> HttpClient::get(const HttpRequest& request, size_t body_limit) {
    return state_->run(request, nullptr, body_limit);
}

Result<HttpResponse> HttpClient::download(const HttpRequest& request, DownloadSink& sink) {
    return state_->run(request, &sink, 0);
}

bool worth_another_try(int status) {
    constexpr int kStatuses[] = {408, 429, 500, 502, 503, 504};
    return std::ranges::find(kStatuses, status) != std::end(kStatuses);
}

std::optional<Duration> retry_delay(const HttpOptions& options, int next_try, std::string_view retry_after,
                                    double jitter, Time now) {
    if (!retry_after.empty()) {
        std::optional<Duration> asked;
        if (auto seconds = parse_number<uint32_t>(retry_after))
            asked = std::chrono::seconds(*seconds);
        else if (time_t date = curl_api() ? curl().getdate(std::string(retry_after).c_str(), nullptr) : -1;
                 date >= 0) {
            constexpr int64_t kSecond = 1'000'000'000;
            const int64_t seconds = std::min<int64_t>(date, std::numeric_limits<int64_t>::max() / kSecond);
            asked = std::max(Duration(0), time_from_nanoseconds(seconds * kSecond) - now);
        }
        if (asked) return *asked <= options.longest_retry_after ? asked : std::nullopt;
    }
    double seconds = to_seconds(options.first_delay) * std::pow(2.0, std::max(0, next_try - 2)) * jitter;
    seconds = std::min(seconds, to_seconds(options.longest_delay));
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::string url_authority(std::string_view url) {
    std::string host = url_part(url, CURLUPART_HOST);
    std::string port = url_part(url, CURLUPART_PORT);
    return port.empty() ? host : host + ":" + port;
}

std::string url_scheme(std::string_view url) {
    return url_part(url, CURLUPART_SCHEME);
}

bool is_loopback(std::string_view authority) {
    std::string_view host = authority;
    if (host.starts_with('['))
        host = host.substr(1, host.find(']') - 1);
    else if (std::ranges::count(host, ':') == 1)
        host = host.substr(0, host.find(':'));
    if (host == "localhost" || host == "::1") return true;
    if (!host.starts_with("127.")) return false;
    auto parts = split(host, '.');
    return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
               return parse_number<uint8_t>(part).has_value();
           });
}

std::string url_encode(std::string_view text) {
    std::string out;
    for (unsigned char c : text) {
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                     c == '.' || c == '_' || c == '~';
        out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
    }
    return out;
}

}  // namespace belay::core::fetch
