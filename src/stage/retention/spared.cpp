#include "stage/retention/spared.h"

#include "core/text.h"
#include "core/user.h"
#include "core/utf8.h"

namespace belay::stage {

namespace {

using core::Result;
using IdOf = std::function<Result<uint32_t>(const std::string&)>;

// Of one text of the policy: those whom it may mean, the one of that name first.
struct Meant {
    std::optional<uint32_t> of_name = {};
    std::optional<uint32_t> number = {};
};

Result<Meant> meant_by(const std::string& user, std::string_view key, const IdOf& id_of) {
    Meant meant{.number = core::parse_number<uint32_t>(user)};
    auto found = id_of(user);
    if (found)
        meant.of_name = *found;
    else if (!meant.number || found.error().cause() != core::Cause::kNotFound)
        return std::unexpected(std::move(found.error()).context(key));
    return meant;
}

}  // namespace

Result<SparedUsers> find_spared(const RetentionPolicy& policy, const IdOf& id_of) {
    SparedUsers spared;
    for (const std::string& user : policy.exempt_users) {
        BELAY_TRY(meant, meant_by(user, "exempt_users", id_of));
        if (meant.of_name) spared.exempt.insert(*meant.of_name);
        if (!meant.number) continue;
        spared.exempt.insert(*meant.number);
        if (!meant.of_name) spared.numbers.push_back(*meant.number);
    }
    if (!policy.users) return spared;
    spared.only.emplace();
    for (const std::string& user : *policy.users) {
        BELAY_TRY(meant, meant_by(user, "users", id_of));
        if (meant.of_name && meant.number && *meant.of_name != *meant.number)
            return core::bad_input("users: \"{}\" is the name of user {} and the number of another",
                                   core::printable(user), *meant.of_name)
                .hint("write the number of the one, or the name of the other");
        spared.only->insert(meant.of_name ? *meant.of_name : *meant.number);
    }
    return spared;
}

Result<SparedUsers> find_spared(const RetentionPolicy& policy) {
    return find_spared(policy, core::user_id);
}

}  // namespace belay::stage
