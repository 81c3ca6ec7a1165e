#include "agent/outward_options.h"

#include "core/file.h"
#include "metrics/remote/credentials.h"
#include "metrics/remote/http_post.h"

#include <chrono>
#include <string_view>

namespace belay::agent {

namespace remote = metrics::remote;
using core::bad_input;
using core::Result;

namespace {

constexpr core::Duration kShortestInterval = std::chrono::milliseconds(10);
constexpr core::Duration kLongestInterval = std::chrono::hours(1);
constexpr size_t kMostAuthorityBytes = size_t{16} << 20;

// Mistakes here are the person's, whatever the system says.
template <typename T>
Result<> named(std::string_view option, Result<T> result) {
    if (result) return {};
    return std::unexpected(std::move(result.error()).as(core::ErrorKind::kBadInput).context(option));
}

Result<> check_authorities(std::string_view option, const std::string& file) {
    if (file.empty()) return {};
    auto text = core::read_file(file, kMostAuthorityBytes);
    if (!text) return named(option, std::move(text));
    if (text->find("-----BEGIN CERTIFICATE-----") == std::string::npos)
        return bad_input("{}: {} holds no certificate", option, file)
            .hint("name a file with the certificates of authorities, in PEM");
    return {};
}

Result<> take_server(const OutwardWords& words, CourierOptions& courier) {
    if (words.server.empty()) return {};
    BELAY_CHECK(named("--server", remote::check_target(words.server, true)));
    if (words.server.find_first_of("?#") != std::string::npos)
        return bad_input("--server: \"{}\" has a query or a fragment", words.server)
            .hint("write the address only, as https://belayd.example.org");
    BELAY_CHECK(
        named("--token-file", remote::read_authorization(words.token_file, remote::CredentialKind::kBearer)));
    BELAY_CHECK(check_authorities("--server-ca", words.server_ca));
    if (words.server_interval < kShortestInterval || words.server_interval > kLongestInterval)
        return bad_input("--server-interval: must be between 10 ms and 1 h");
    courier.server = words.server;
    courier.token_file = words.token_file;
    courier.server_ca = words.server_ca;
    courier.server_interval = words.server_interval;
    return {};
}

Result<> take_remote_write(const OutwardWords& words, CourierOptions& courier) {
    if (words.remote_write.empty()) return {};
    const bool has_credentials = !words.remote_write_credentials.empty();
    BELAY_CHECK(named("--remote-write", remote::check_target(words.remote_write, has_credentials)));
    if (has_credentials)
        BELAY_CHECK(named(
            "--remote-write-credentials",
            remote::read_authorization(words.remote_write_credentials, remote::CredentialKind::kEither)));
    BELAY_CHECK(check_authorities("--remote-write-ca", words.remote_write_ca));
    courier.remote_write = words.remote_write;
    courier.remote_write_credentials = words.remote_write_credentials;
    courier.remote_write_ca = words.remote_write_ca;
    return {};
}

}  // namespace

void add_outward_options(core::CommandDeclaration& command, OutwardWords& words) {
    core::Options& options = command.options();
    auto* server = options
                       .add_option("--server", words.server,
                                   "address of belayd, to which the spool is sent: https://HOST[:PORT]")
                       ->type_name("URL");
    auto* token =
        options
            .add_option("--token-file", words.token_file,
                        "file with the token for belayd, which only its owner may read; it is read again "
                        "when it changes")
            ->type_name("FILE")
            ->needs(server);
    server->needs(token);
    options
        .add_option(
            "--server-ca", words.server_ca,
            "certificates of the authorities that belayd's certificate is checked with, in PEM. Default: "
            "those of the system")
        ->type_name("FILE")
        ->needs(server);
    command.duration("--server-interval", words.server_interval, "time between two uploads")->needs(server);
    options
        .add_option("--listen", words.listen,
                    "where GET /metrics and GET /healthz are answered. Only this machine can ask at :PORT; "
                    "who asks is not checked")
        ->type_name("ADDRESS:PORT");
    auto* remote_write =
        options
            .add_option("--remote-write", words.remote_write,
                        "where samples are sent as metrics: a receiver of Prometheus remote write")
            ->type_name("URL");
    options
        .add_option("--remote-write-credentials", words.remote_write_credentials,
                    "file with USER:PASSWORD or a token for the receiver, which only its owner may read")
        ->type_name("FILE")
        ->needs(remote_write);
    options
        .add_option("--remote-write-ca", words.remote_write_ca,
                    "certificates of the authorities that the receiver's certificate is checked with, in PEM")
        ->type_name("FILE")
        ->needs(remote_write);
    options.add_flag(
        "--process-metrics", words.shows_processes,
        "metrics also of each process of a step: many series, which end with the processes and name "
        "their programs");
}

Result<> take_outward_options(const OutwardWords& words, AgentOptions& options) {
    BELAY_CHECK(take_server(words, options.courier));
    BELAY_CHECK(take_remote_write(words, options.courier));
    options.courier.shows_processes = words.shows_processes;
    if (words.listen.empty()) return {};
    auto address = parse_listen_address(words.listen);
    if (!address) return named("--listen", std::move(address));
    options.listen = *address;
    return {};
}

}  // namespace belay::agent
