#include "vet/step_secret.h"

namespace belay::vet {

namespace {

using core::Result;
using core::system_error;

constexpr core::Duration kMungeTime = std::chrono::seconds(10);  // it answers within milliseconds
constexpr std::string_view kHint =
    "start munge on all nodes, or give the step a secret with the variable BELAY_STEP_SECRET";

core::Deadline soon(const core::Deadline& deadline) {
    return deadline.but_within(kMungeTime);
}

// Fails otherwise: munge is there, and who keeps it from answering shall not gain by that.
bool is_missing(const core::Error& error) {
    return error.cause() == core::Cause::kNotFound;
}

// A member believes a root without an offer only where it could not have opened one: else somebody else might
// pass for the root by offering nothing.
Result<std::string> secret_without_offer(const std::string& step_name, const slurm::Credentials& credentials,
                                         const core::Deadline& deadline) {
    auto answer = credentials.encode("", soon(deadline));
    if (!answer && is_missing(answer.error())) return step_name;
    if (!answer) return std::unexpected(std::move(answer.error()).hint(kHint));
    return system_error("it offers no credential of munge, which answers on this node")
        .because(core::Cause::kDenied)
        .hint(kHint);
}

}  // namespace

Result<std::optional<core::Error>> share_secret(StepContext& context, const slurm::Credentials& credentials) {
    if (!context.secret.empty() || context.nodes.size() == 1) return std::nullopt;
    if (context.rank != 0) {
        context.secret_of = [name = context.name, credentials](std::string_view offer,
                                                               const core::Deadline& deadline) {
            auto secret = offer.empty() ? secret_without_offer(name, credentials, deadline)
                                        : credentials.decode(offer, soon(deadline));
            // It is this node that has no answer, and not the link to the first one.
            if (!secret && secret.error().cause() == core::Cause::kTimedOut)
                secret = std::unexpected(std::move(secret.error()).because(core::Cause::kOther));
            if (!secret) secret = std::unexpected(std::move(secret.error()).hint(kHint));
            return secret;
        };
        return std::nullopt;
    }
    BELAY_TRY(secret, transfer::make_nonce());
    auto offer = credentials.encode(secret, core::Deadline::after(kMungeTime));
    if (offer) {
        context.secret = std::move(secret);
        context.offer = std::move(*offer);
        return std::nullopt;
    }
    if (!is_missing(offer.error())) return std::unexpected(std::move(offer.error()).hint(kHint));
    context.secret = context.name;
    return std::move(offer.error())
        .context("other users of the cluster could take part in this vetting")
        .hint(kHint);
}

}  // namespace belay::vet
