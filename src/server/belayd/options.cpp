#include "server/belayd/options.h"

#include "core/config.h"
#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "server/belayd/settings.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

constexpr size_t kMostConfigBytes = size_t{1} << 20;
constexpr size_t kMostSecretBytes = 4096;
constexpr int64_t kMostThreads = 256;

bool is_numeric_address(const std::string& address) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    return inet_pton(AF_INET, address.c_str(), ignored.data()) == 1 ||
           inet_pton(AF_INET6, address.c_str(), ignored.data()) == 1;
}

Result<core::Configuration> configuration_of(const DaemonWords& words, const core::Environment& environment) {
    BELAY_TRY(configuration, core::load_configuration(kSettings, core::default_sources(environment)));
    if (!words.config.empty()) {
        auto text = core::read_file(words.config, kMostConfigBytes);
        if (!text)
            return std::unexpected(
                std::move(text.error()).as(core::ErrorKind::kBadInput).context("--config"));
        BELAY_CHECK(configuration.merge_toml(*text, words.config));
    }
    for (const GivenSetting& given : words.given) {
        const std::array texts = {given.text};
        BELAY_CHECK(configuration.merge_flag(given.key, texts, given.flag));
    }
    return configuration;
}

Result<AskSlurm> ask_slurm(const std::string& word) {
    if (word == "auto") return AskSlurm::kAuto;
    if (word == "yes" || word == "no") return word == "yes" ? AskSlurm::kYes : AskSlurm::kNo;
    return bad_input("server.slurm: \"{}\" is not yes, no or auto", core::printable(word));
}

Result<std::optional<http::TlsFiles>> certificate_of(const core::Configuration& configuration) {
    const std::string& certificate = configuration.text("server.certificate");
    const std::string& key = configuration.text("server.key");
    if (certificate.empty() != key.empty())
        return bad_input("server.certificate and server.key need each other")
            .hint("set both, or none of them");
    if (certificate.empty()) return std::optional<http::TlsFiles>();
    return std::optional<http::TlsFiles>(http::TlsFiles{.certificate = certificate, .key = key});
}

std::set<std::string> texts_of(const core::Configuration& configuration, std::string_view key) {
    const core::TextList& list = configuration.text_list(key);
    return {list.begin(), list.end()};
}

Result<std::optional<OidcOptions>> oidc_of(const core::Configuration& configuration) {
    OidcOptions oidc{.issuer = configuration.text("server.oidc_issuer"),
                     .client = configuration.text("server.oidc_client"),
                     .user_claim = configuration.text("server.oidc_user_claim"),
                     .staff_groups = texts_of(configuration, "server.oidc_staff_groups")};
    if (oidc.issuer.empty()) return std::optional<OidcOptions>();
    for (const char* needed : {"server.oidc_client", "server.url"})
        if (configuration.text(needed).empty())
            return bad_input("{} is missing, which server.oidc_issuer needs", needed);
    if (const std::string& file = configuration.text("server.oidc_secret_file"); !file.empty()) {
        auto secret = core::read_file(file, kMostSecretBytes);
        if (!secret)
            return std::unexpected(
                std::move(secret.error()).as(core::ErrorKind::kBadInput).context("server.oidc_secret_file"));
        oidc.secret = core::trim(*secret);
    }
    return std::optional<OidcOptions>(std::move(oidc));
}

Result<size_t> threads_of(const core::Configuration& configuration, std::string_view key) {
    const int64_t number = configuration.integer(key);
    if (number < 1 || number > kMostThreads)
        return bad_input("{}: {} is not from 1 to {}", key, number, kMostThreads);
    return static_cast<size_t>(number);
}

Result<> check_writer_name(const std::string& name) {
    const bool is_word = !name.empty() && name.size() <= 32 && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
    if (is_word) return {};
    return bad_input("server.name: \"{}\" is not 1 to 32 letters and digits", core::printable(name));
}

}  // namespace

bool is_loopback(std::string_view numeric_address) {
    return numeric_address.starts_with("127.") || numeric_address == "::1";
}

Result<ListenAddress> parse_listen(std::string_view text) {
    const size_t colon = text.rfind(':');
    const auto port =
        colon == std::string_view::npos ? std::nullopt : core::parse_number<uint16_t>(text.substr(colon + 1));
    std::string address(text.substr(0, colon == std::string_view::npos ? 0 : colon));
    const bool has_brackets = address.starts_with('[') && address.ends_with(']');
    if (has_brackets) address = address.substr(1, address.size() - 2);
    if (!port || !is_numeric_address(address) || has_brackets != (address.find(':') != std::string::npos))
        return bad_input("\"{}\" is not ADDRESS:PORT", core::printable(text))
            .hint("for instance 127.0.0.1:8440, or [::]:8440 for all addresses of this machine");
    return ListenAddress{.address = std::move(address), .port = *port};
}

Result<DaemonOptions> read_options(const DaemonWords& words, const core::Environment& environment) {
    BELAY_TRY(configuration, configuration_of(words, environment));
    DaemonOptions options;
    options.data = configuration.text("server.data");
    if (options.data.empty()) return bad_input("server.data: is an empty name");
    BELAY_TRY(listen, core::with_context(parse_listen(configuration.text("server.listen")), "server.listen"));
    options.listen = std::move(listen);
    options.uses_tls = !words.no_tls;
    if (words.no_tls && !is_loopback(options.listen.address))
        return bad_input(
                   "--no-tls: {} can be reached from other machines, and tokens would be sent in the clear",
                   options.listen.address)
            .hint("leave --no-tls out, or listen on 127.0.0.1");
    BELAY_TRY(certificate, certificate_of(configuration));
    options.certificate = std::move(certificate);
    options.hosts = configuration.text_list("server.hosts");
    options.database = configuration.text("server.database");
    if (options.database.empty()) options.database = "sqlite:" + (options.data / "state.db").string();
    options.name = configuration.text("server.name");
    BELAY_CHECK(check_writer_name(options.name));
    BELAY_TRY(slurm, ask_slurm(configuration.text("server.slurm")));
    options.slurm = slurm;
    options.cluster = configuration.text("server.cluster");
    options.staff = texts_of(configuration, "server.staff");
    options.url = configuration.text("server.url");
    BELAY_TRY(oidc, oidc_of(configuration));
    options.oidc = std::move(oidc);
    options.slurm_interval = configuration.duration("server.slurm_interval");
    options.record_delay = configuration.duration("server.record_delay");
    BELAY_TRY(threads, threads_of(configuration, "server.threads"));
    BELAY_TRY(workers, threads_of(configuration, "server.workers"));
    options.threads = threads;
    options.workers = workers;
    return options;
}

}  // namespace belay::server
