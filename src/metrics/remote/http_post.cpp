#include "metrics/remote/http_post.h"

#include "core/fetch/curl_api.h"
#include "core/fetch/curl_error.h"
#include "core/fetch/http.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <curl/curl.h>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace belay::metrics::remote {

namespace {

namespace fetch = core::fetch;

constexpr size_t kMostBodyBytes = size_t{16} << 10;

// What holds a handle or a list of libcurl has loaded it.
const fetch::CurlApi& curl() {
    return **fetch::curl_api();
}

struct CurlFree {
    void operator()(CURL* handle) const { curl().easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using HeaderLines = std::unique_ptr<curl_slist, CurlFree>;

size_t on_body(char* data, size_t size, size_t count, void* user) {
    std::string& body = static_cast<PostAnswer*>(user)->body;
    body.append(data, std::min(size * count, kMostBodyBytes - std::min(kMostBodyBytes, body.size())));
    return size * count;
}

size_t on_header(char* data, size_t size, size_t count, void* user) {
    std::string_view line(data, size * count);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && core::lower_case(line.substr(0, colon)) == "retry-after")
        static_cast<PostAnswer*>(user)->retry_after =
            core::trim(line.substr(colon + 1, line.find_last_not_of("\r\n") - colon));
    return size * count;
}

int on_progress(void* user, curl_off_t /*total*/, curl_off_t /*received*/, curl_off_t /*to_send*/,
                curl_off_t /*sent*/) {
    const auto* stopped = static_cast<const std::atomic<bool>*>(user);
    return stopped != nullptr && *stopped ? 1 : 0;
}

long in_milliseconds(core::Duration duration) {
    return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

HeaderLines header_lines(const PostRequest& request) {
    HeaderLines lines;
    auto add = [&](const std::string& line) {
        if (curl_slist* longer = curl().slist_append(lines.get(), line.c_str()); longer != nullptr) {
            (void)lines.release();
            lines.reset(longer);
        }
    };
    for (const auto& [name, value] : request.headers) add(name + ": " + value);
    if (!request.authorization.empty()) add("Authorization: " + request.authorization);
    add("Expect:");  // else libcurl waits for "100 Continue" before it sends a large body
    return lines;
}

class Poster {
  public:
    explicit Poster(HttpPostOptions options) : options_(std::move(options)) {}

    core::Result<PostAnswer> post(const PostRequest& request) {
        BELAY_CHECK(fetch::curl_api());
        BELAY_CHECK(check_target(request.url, !request.authorization.empty()));
        if (!handle_) handle_.reset(curl().easy_init());
        if (!handle_) return core::system_error("libcurl cannot be started");
        PostAnswer answer;
        char why[CURL_ERROR_SIZE] = "";
        set_up(request, answer, why);
        HeaderLines lines = header_lines(request);
        curl().easy_setopt(handle_.get(), CURLOPT_HTTPHEADER, lines.get());
        const CURLcode code = curl().easy_perform(handle_.get());
        long status = 0;
        curl().easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
        const auto error = code == CURLE_OK ? std::nullopt : std::optional(failure(request, code, why));
        curl().easy_reset(handle_.get());  // it holds what ends here
        if (error) return std::unexpected(*error);
        answer.status = static_cast<int>(status);
        return answer;
    }

  private:
    void set_up(const PostRequest& request, PostAnswer& answer, char* why) {
        auto set = curl().easy_setopt;
        CURL* easy = handle_.get();
        curl().easy_reset(easy);
        set(easy, CURLOPT_URL, request.url.c_str());
        set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
        set(easy, CURLOPT_FOLLOWLOCATION, 0L);
        set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        set(easy, CURLOPT_NOSIGNAL, 1L);
        set(easy, CURLOPT_CONNECTTIMEOUT_MS, in_milliseconds(options_.connect_timeout));
        set(easy, CURLOPT_TIMEOUT_MS, in_milliseconds(options_.timeout));
        set(easy, CURLOPT_POST, 1L);
        set(easy, CURLOPT_POSTFIELDS,
            request.body.empty() ? "" : request.body.data());  // of NULL it would read stdin
        set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(easy, CURLOPT_NOPROGRESS, 0L);
        set(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
        set(easy, CURLOPT_XFERINFODATA, options_.stopped);
        set(easy, CURLOPT_HEADERFUNCTION, on_header);
        set(easy, CURLOPT_HEADERDATA, &answer);
        set(easy, CURLOPT_WRITEFUNCTION, on_body);
        set(easy, CURLOPT_WRITEDATA, &answer);
        set(easy, CURLOPT_ERRORBUFFER, why);
        if (fetch::is_loopback(fetch::url_authority(request.url))) set(easy, CURLOPT_PROXY, "");
        // As curl(1) does; libcurl itself does not look at it.
        const char* file = options_.ca_file.empty() ? std::getenv("SSL_CERT_FILE") : options_.ca_file.c_str();
        if (file != nullptr && *file != '\0') set(easy, CURLOPT_CAINFO, file);
        // Else the system's authorities are trusted beside it.
        if (!options_.ca_file.empty()) set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }

    core::Error failure(const PostRequest& request, CURLcode code, std::string_view why) {
        long number = 0;  // libcurl's own words stop at "Couldn't connect to server"
        if (code == CURLE_COULDNT_CONNECT) curl().easy_getinfo(handle_.get(), CURLINFO_OS_ERRNO, &number);
        const auto errno_value = static_cast<int>(number);
        std::string words(why.empty() ? curl().easy_strerror(code) : why);
        if (errno_value != 0) words += ": " + std::generic_category().message(errno_value);
        auto error =
            core::system_error("cannot reach {}: {}", core::printable(fetch::url_authority(request.url)),
                               core::printable(words))
                .because_of_errno(errno_value);
        const bool stopped = code == CURLE_ABORTED_BY_CALLBACK;
        std::string hint(fetch::hint_of(code));
        if (!options_.ca_file.empty() && code == CURLE_PEER_FAILED_VERIFICATION)
            hint = fmt::format("is its certificate signed by an authority in {}?", options_.ca_file.string());
        if (!options_.ca_file.empty() && code == CURLE_SSL_CACERT_BADFILE)
            hint = fmt::format("does {} hold certificates in PEM, and may it be read?",
                               options_.ca_file.string());
        return std::move(error)
            .because(stopped ? core::Cause::kCancelled : fetch::cause_of(code, errno_value))
            .hint(hint)
            .error();
    }

    HttpPostOptions options_;
    std::unique_ptr<CURL, CurlFree> handle_;
};

}  // namespace

core::Result<> check_target(std::string_view url, bool with_credentials) {
    const std::string scheme = fetch::url_scheme(url);
    const std::string authority = fetch::url_authority(url);
    if (authority.empty() || (scheme != "http" && scheme != "https"))
        return core::bad_input("\"{}\" is not an http or https URL", core::printable(url));
    if (with_credentials && scheme != "https" && !fetch::is_loopback(authority))
        return core::bad_input("credentials for {} would be sent for everybody to read",
                               core::printable(authority))
            .hint("use https");
    return {};
}

Transport http_post(HttpPostOptions options) {
    auto poster = std::make_shared<Poster>(std::move(options));
    return [poster](const PostRequest& request) { return poster->post(request); };
}

}  // namespace belay::metrics::remote
