// What belayd is made of beside its threads: where things are, who is asked, and what is known for a while.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "http/server/tls_context.h"
#include "server/belayd/options.h"
#include "server/login/identity_provider.h"
#include "server/state/account_store.h"
#include "server/watch/slurm_watch.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belay::server {

// The program `belay`, which is installed beside this one; else it is looked for in PATH.
std::filesystem::path belay_program();

// By which clients reach this server: those of the options, and those that every machine has for itself.
std::vector<std::string> names_of_machine(const DaemonOptions& options);
// The site's certificate or one of its own; nothing where it serves in the clear. Errors: as of own_certificate().
core::Result<std::optional<http::TlsFiles>> tls_of(const DaemonOptions& options,
                                                   const std::vector<std::string>& names);

// Whether Slurm is asked, and of which cluster.
struct AskedSlurm {
    std::optional<SlurmSources> sources;
    std::string cluster;
};
// Errors: kSystem where Slurm is to be asked and does not say what its cluster is called.
core::Result<AskedSlurm> slurm_of(const DaemonOptions& options);

// Null where the options name none.
std::shared_ptr<IdentityProvider> provider_of(const DaemonOptions& options);

// The accounts as the database has them, read again now and then. Thread-safe.
class KnownAccounts {
  public:
    explicit KnownAccounts(database::Database& database) : database_(&database) {}
    // Without an answer of the database the last ones, or none.
    std::shared_ptr<const AccountTree> get();

  private:
    database::Database* database_;
    std::mutex mutex_;
    std::shared_ptr<const AccountTree> tree_;
    core::Duration read_{};
};

}  // namespace belay::server
