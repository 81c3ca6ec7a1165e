#include "server/belayd/daemon_parts.h"

#include "core/host_name.h"
#include "core/log.h"
#include "server/belayd/own_certificate.h"
#include "server/login/fetch.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace belay::server {

using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr core::Duration kAccountsAge = std::chrono::seconds(10);
constexpr core::Duration kAccountsWait = std::chrono::seconds(5);  // requests wait for it

}  // namespace

fs::path belay_program() {
    std::error_code error;
    const fs::path own = fs::read_symlink("/proc/self/exe", error);
    const fs::path beside = own.parent_path() / "belay";
    return !error && fs::exists(beside, error) ? beside : fs::path("belay");
}

std::shared_ptr<const AccountTree> KnownAccounts::get() {
    const std::lock_guard lock(mutex_);
    const core::Duration now = core::system_clock().monotonic();
    if (tree_ && now - read_ < kAccountsAge) return tree_;
    auto tree = load_accounts(*database_, core::Deadline::after(kAccountsWait));
    if (tree) tree_ = std::make_shared<const AccountTree>(std::move(*tree));
    // Without an answer the last one holds; without any, nobody belongs to anything.
    if (!tree) core::log_warning("read accounts: {}", tree.error().headline());
    read_ = now;
    return tree_ ? tree_ : std::make_shared<const AccountTree>();
}

std::vector<std::string> names_of_machine(const DaemonOptions& options) {
    std::vector<std::string> names = options.hosts;
    for (const std::string& name : {std::string("localhost"), std::string("127.0.0.1"), std::string("::1"),
                                    options.listen.address, core::host_name()})
        if (name != "0.0.0.0" && name != "::" && std::ranges::find(names, name) == names.end())
            names.push_back(name);
    return names;
}

Result<std::optional<http::TlsFiles>> tls_of(const DaemonOptions& options,
                                             const std::vector<std::string>& names) {
    if (!options.uses_tls) return std::optional<http::TlsFiles>();
    if (options.certificate) return options.certificate;
    BELAY_TRY(files, own_certificate(options.data / "tls", names, core::system_clock().now()));
    return std::optional<http::TlsFiles>(std::move(files));
}

Result<AskedSlurm> slurm_of(const DaemonOptions& options) {
    AskedSlurm asked{.sources = {}, .cluster = options.cluster};
    if (options.slurm == AskSlurm::kNo) return asked;
    auto name = query_cluster_name();
    if (!name && name.error().cause() == core::Cause::kNotFound && options.slurm == AskSlurm::kAuto) {
        core::log_info("Slurm is not asked: {}", name.error().headline());
        return asked;
    }
    // With a name of its own it goes on: Slurm is asked again later.
    if (!name && options.cluster.empty())
        return std::unexpected(
            std::move(name.error())
                .hint("start belayd when slurmctld answers, or say the name with --cluster"));
    if (asked.cluster.empty()) asked.cluster = std::move(*name);
    asked.sources = slurm_sources();
    return asked;
}

std::shared_ptr<IdentityProvider> provider_of(const DaemonOptions& options) {
    if (!options.oidc) return nullptr;
    const OidcOptions& oidc = *options.oidc;
    ProviderOptions provider{.issuer = {.name = oidc.issuer, .audience = oidc.client},
                             .client_secret = oidc.secret,
                             .user_claim = oidc.user_claim,
                             .staff_groups = oidc.staff_groups};
    return std::make_shared<IdentityProvider>(std::move(provider), fetch_from_web(), core::system_clock());
}

}  // namespace belay::server
