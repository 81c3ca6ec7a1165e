// Who may see and do what: the one place where it is decided, for the API, SQL, exports, streams and files alike. Pure.
//
// Roles are those of docs/security.md: a user sees their own jobs; a member of a project its totals, and the jobs that their
// owners share with it; a manager all jobs of the project and of those below it; staff all jobs, and each look is logged.
// A token may allow less than the person who made it. What may not be seen is answered as what is not there (404).
#pragma once

#include "core/time.h"
#include "server/access/accounts.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace belay::server {

// How whoever asks was recognised.
enum class Proof : uint8_t { kMunge, kOidc, kToken, kLink };

// What a token or a link allows at most.
struct Scope {
    bool may_change = true;             // otherwise it only reads
    std::optional<std::string> job;     // nothing but this job, by its key
    std::optional<core::Time> expires;  // from then on nothing
};

struct Identity {
    std::string user;
    Proof proof = Proof::kToken;
    bool is_staff = false;
    std::set<std::string> member_of = {};  // accounts
    std::set<std::string> manages = {};    // likewise
    Scope scope = {};
};

enum class Sharing : uint8_t {
    kOwner,    // with nobody
    kProject,  // with the members of its account
};

struct JobFacts {
    std::string key;  // by which a scope names it
    std::string owner;
    std::string account;
    Sharing sharing = Sharing::kOwner;
    bool shares_last_words = false;  // what it printed last
};

// What is asked for.
enum class Wish : uint8_t {
    kSeeJob,        // all of its tables, findings, score, report, SQL, export, live events
    kSeeLastWords,  // what its tasks printed last
    kLinkJob,       // make a link that shows it to somebody else
    kChangeJob,     // share it, erase it, upload to it
};

struct Decision {
    bool is_allowed = false;
    bool is_audited = false;  // it is written down that it was done: somebody else's, by staff
};

Decision decide(const Identity& identity, const JobFacts& job, Wish wish, const Accounts& accounts,
                core::Time now);

// Totals of a project, in which no job and no user but their own are told apart.
Decision decide_project(const Identity& identity, std::string_view account, const Accounts& accounts,
                        core::Time now);
// What is kept about a person.
Decision decide_person(const Identity& identity, std::string_view user, core::Time now);
// States of nodes, tokens of others, the log of who looked: staff's.
Decision decide_operation(const Identity& identity, core::Time now);

// Which jobs to look for in the first place: a query asks for no more than this, and each job that it finds is decided upon
// all the same.
struct JobFilter {
    bool all = false;
    std::string owner;                // or jobs of these
    std::set<std::string> accounts;   // all jobs in these and below
    std::set<std::string> shared_in;  // shared jobs in these
    std::optional<std::string> job;   // and of all that only this one
};
JobFilter filter_for(const Identity& identity, core::Time now);

}  // namespace belay::server
