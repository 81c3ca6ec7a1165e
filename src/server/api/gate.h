// The way from a request to a job: every route that shows or changes one goes through here, so that who may do what is decided by
// access/policy.h alone, what one may not see is answered as what is not there, and what staff looks at is written down.
#pragma once

#include "core/time.h"
#include "database/database.h"
#include "http/request.h"
#include "http/response.h"
#include "server/access/policy.h"
#include "server/state/account_store.h"
#include "server/state/job.h"
#include "server/state/job_list.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace belay::server {

struct GateParts {
    database::Database* database = nullptr;
    // Who sends the request. Errors: 401, 503.
    std::function<http::Checked<Identity>(const http::Request&)> identity;
    std::function<std::shared_ptr<const AccountTree>()> accounts;
    core::Clock* clock = &core::system_clock();
    core::Duration longest_wait = std::chrono::seconds(5);  // for the database
};

// Its functions block. Thread-safe.
class Gate {
  public:
    explicit Gate(GateParts parts) : parts_(std::move(parts)) {}

    http::Checked<Identity> identity(const http::Request& request) const { return parts_.identity(request); }
    // The job that the segment {job} of the request's path names, by its key or, the newest that they may see, its number. Errors: 404
    // where there is none or it is not theirs to see; 403 where they may see it but not do as they wish; 503.
    http::Checked<Job> job(const http::Request& request, Wish wish, std::string_view what) const;
    // Whether the wish would be granted too; nothing is written down.
    http::Checked<bool> would_grant(const http::Request& request, const Job& job, Wish wish) const;
    // A page of those that they may see.
    http::Checked<JobPage> jobs(const http::Request& request, const JobConditions& conditions,
                                const Page& page) const;
    // Errors: 404, as if there were no such account.
    http::Checked<> project(const http::Request& request, std::string_view account,
                            std::string_view what) const;
    // What is kept about a person. Errors: likewise.
    http::Checked<> person(const http::Request& request, std::string_view user, std::string_view what) const;
    // What only staff may. Errors: 404.
    http::Checked<> operation(const http::Request& request, std::string_view what) const;

    core::Deadline deadline() const { return core::Deadline::after(parts_.longest_wait); }
    database::Database& database() const { return *parts_.database; }
    core::Time now() const { return parts_.clock->now(); }

  private:
    // Errors: `missing` where it is not allowed.
    http::Checked<> grant(const http::Request& request, const Identity& identity, const Decision& decision,
                          std::string_view what, std::string_view missing) const;
    http::Checked<std::vector<Job>> named(std::string_view name) const;
    http::Checked<> write_down(const http::Request& request, const Identity& identity, const Job* job,
                               std::string_view what) const;

    GateParts parts_;
};

// A failure of the database or the disk, as an answer; what it was is for the log.
http::Refusal refusal_of(const core::Error& error, std::string_view what);

}  // namespace belay::server
