// What belayd is told: settings of files and the environment, and over them the words of its command line.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "core/time.h"
#include "http/server/tls_context.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// A word of the command line that stands for a setting.
struct GivenSetting {
    std::string key;   // "server.data"
    std::string flag;  // "--data"
    std::string text;
};

struct DaemonWords {
    std::vector<GivenSetting> given;
    std::string config;   // --config; empty: none
    bool no_tls = false;  // --no-tls
};

struct ListenAddress {
    std::string address;  // numeric
    uint16_t port = 0;    // 0: any that is free
    bool operator==(const ListenAddress&) const = default;
};
// "127.0.0.1:8440", "[::1]:8440". Errors: kBadInput.
core::Result<ListenAddress> parse_listen(std::string_view text);
bool is_loopback(std::string_view numeric_address);

enum class AskSlurm { kYes, kNo, kAuto };

// A provider of identities by which people log in.
struct OidcOptions {
    std::string issuer, client;
    std::string secret;  // empty: none
    std::string user_claim;
    std::set<std::string> staff_groups;
};

struct DaemonOptions {
    std::filesystem::path data;
    ListenAddress listen;
    bool uses_tls = true;
    std::optional<http::TlsFiles> certificate;  // nothing: its own
    std::vector<std::string> hosts;             // by which it is known, beside the machine's names
    std::string database;                       // "sqlite:…" or "postgresql://…"
    std::string name;
    AskSlurm slurm = AskSlurm::kAuto;
    std::string cluster;  // empty: as Slurm says
    std::set<std::string> staff;
    std::string url;  // as browsers see it
    std::optional<OidcOptions> oidc;
    core::Duration slurm_interval{};
    core::Duration record_delay{};
    size_t threads = 0;
    size_t workers = 0;
};

// Errors: kBadInput with the place of what is wrong; kSystem.
core::Result<DaemonOptions> read_options(const DaemonWords& words, const core::Environment& environment);

}  // namespace belay::server
