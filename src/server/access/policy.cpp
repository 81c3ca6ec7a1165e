#include "server/access/policy.h"

namespace belay::server {

namespace {

bool is_over(const Scope& scope, core::Time now) {
    return scope.expires && now >= *scope.expires;
}

// What the person may, whatever they hold in their hands.
Decision decide_for_person(const Identity& identity, const JobFacts& job, Wish wish,
                           const Accounts& accounts) {
    const bool is_owner = !identity.user.empty() && identity.user == job.owner;
    if (is_owner) return {.is_allowed = true};
    if (wish == Wish::kChangeJob) return {};
    if (wish == Wish::kSeeLastWords && !job.shares_last_words) return {};
    if (accounts.any_covers(identity.manages, job.account)) return {.is_allowed = true};
    const bool is_shared = job.sharing == Sharing::kProject && identity.member_of.contains(job.account);
    if (is_shared && !job.account.empty()) return {.is_allowed = true};
    if (identity.is_staff) return {.is_allowed = true, .is_audited = true};
    return {};
}

}  // namespace

Decision decide(const Identity& identity, const JobFacts& job, Wish wish, const Accounts& accounts,
                core::Time now) {
    const Scope& scope = identity.scope;
    if (is_over(scope, now)) return {};
    if (scope.job && *scope.job != job.key) return {};
    if ((wish == Wish::kChangeJob || wish == Wish::kLinkJob) && !scope.may_change) return {};
    // What came as a link is not handed on.
    if (wish == Wish::kLinkJob && identity.proof == Proof::kLink) return {};
    // A link was given to somebody else than its maker, who sees what the job printed only where that is shared.
    if (wish == Wish::kSeeLastWords && identity.proof == Proof::kLink && !job.shares_last_words) return {};
    return decide_for_person(identity, job, wish, accounts);
}

Decision decide_project(const Identity& identity, std::string_view account, const Accounts& accounts,
                        core::Time now) {
    if (is_over(identity.scope, now) || identity.scope.job) return {};
    if (identity.member_of.contains(std::string(account)) || accounts.any_covers(identity.manages, account))
        return {.is_allowed = !account.empty()};
    return {.is_allowed = identity.is_staff, .is_audited = identity.is_staff};
}

Decision decide_person(const Identity& identity, std::string_view user, core::Time now) {
    const bool is_own = !user.empty() && identity.user == user && identity.proof != Proof::kLink;
    if (is_own && !is_over(identity.scope, now) && !identity.scope.job) return {.is_allowed = true};
    return decide_operation(identity, now);
}

Decision decide_operation(const Identity& identity, core::Time now) {
    if (is_over(identity.scope, now) || identity.scope.job || identity.proof == Proof::kLink) return {};
    return {.is_allowed = identity.is_staff, .is_audited = identity.is_staff};
}

JobFilter filter_for(const Identity& identity, core::Time now) {
    if (is_over(identity.scope, now)) return {};
    return {.all = identity.is_staff,
            .owner = identity.user,
            .accounts = identity.manages,
            .shared_in = identity.member_of,
            .job = identity.scope.job};
}

}  // namespace belay::server
