#include "agent/courier/block_post.h"

#include "core/fetch/http.h"
#include "core/json.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/utf8.h"
#include "metrics/remote/credentials.h"

#include <algorithm>
#include <utility>

namespace belay::agent {

namespace remote = metrics::remote;
using Verdict = ShipAnswer::Verdict;

namespace {

constexpr std::string_view kPath = "/api/v1/blocks";
constexpr size_t kMostQuoted = 200;  // bytes of an answer in a message
// A token that is not accepted, an address that is not belayd's: people have to do something first, so it can be tried later.
constexpr core::Duration kForPeople = std::chrono::minutes(5);
constexpr core::Duration kLongestRetryAfter =
    std::chrono::minutes(10);  // one that asks for more is asked after this

// What a status means; those that are not here are tried again.
struct StatusRow {
    int status;
    Verdict verdict;
    std::string_view words;  // behind the host and before the status; empty: "answers"
    bool is_for_people = false;
    std::string_view advice = {};
};
constexpr StatusRow kStatuses[] = {
    {200, Verdict::kStored, ""},
    {400, Verdict::kRefused, "refuses blocks with"},
    {413, Verdict::kRefused, "refuses blocks with"},
    {422, Verdict::kRefused, "refuses blocks with"},
    {409, Verdict::kNotOurs, "has this stream from another writer:"},
    {401, Verdict::kLater, "does not accept the token:", true,
     "is it still valid? --token-file is read again"},
    {403, Verdict::kLater, "does not accept the token:", true, "may it upload? --token-file is read again"},
    {404, Verdict::kLater, "", true, "is --server the address of belayd?"},
    {405, Verdict::kLater, "", true, "is --server the address of belayd?"},
};

const StatusRow* row_of_status(int status) {
    const auto* row = std::ranges::find(kStatuses, status, &StatusRow::status);
    return row == std::end(kStatuses) ? nullptr : row;
}

std::string first_line(std::string_view body) {
    std::string_view line = core::utf8_prefix(core::trim(body.substr(0, body.find('\n'))), kMostQuoted);
    return line.empty() ? "" : ": " + core::printable(line);
}

std::optional<uint64_t> count_in(const nlohmann::json& json, const char* key) {
    auto found = json.find(key);
    if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
    return core::integer_from<uint64_t>(*found);
}

// Nothing where it is not an acknowledgement of this piece.
std::optional<ShipAnswer> read_acknowledgement(std::string_view body, const stream::Cursor& sent) {
    const nlohmann::json json = core::parse_json(body);
    if (!json.is_object()) return std::nullopt;
    auto next = count_in(json, "next_block");
    auto text = json.find("stream");
    if (!next || text == json.end() || !text->is_string()) return std::nullopt;
    auto stream = stream::parse_cursor(text->get<std::string>());
    if (!stream || stream->stream != sent.stream || *next < sent.next_block) return std::nullopt;
    return ShipAnswer{
        .verdict = Verdict::kStored,
        .next_block = *next,
        .blocks = count_in(json, "new_blocks").value_or(0) + count_in(json, "known_blocks").value_or(0)};
}

core::Duration asked_delay(std::string_view retry_after, core::Time now) {
    if (retry_after.empty()) return {};
    core::fetch::HttpOptions delays{.seed = 0};
    delays.first_delay = {};
    delays.longest_retry_after = kLongestRetryAfter;
    return core::fetch::retry_delay(delays, 2, retry_after, 1.0, now).value_or(kLongestRetryAfter);
}

}  // namespace

std::string upload_url(std::string_view server) {
    while (server.ends_with('/')) server.remove_suffix(1);
    return std::string(server).append(kPath);
}

ShipAnswer judge_upload(const remote::PostAnswer& answer, const stream::Cursor& sent, std::string_view host,
                        core::Time now) {
    const StatusRow* row = row_of_status(answer.status);
    if (row != nullptr && row->verdict == Verdict::kStored) {
        if (auto stored = read_acknowledgement(answer.body, sent)) return *stored;
        return {.verdict = Verdict::kLater,
                .after = kForPeople,
                .why = fmt::format(
                    "{} answers 200, but does not acknowledge what was sent{}: is --server the address "
                    "of belayd?",
                    host, first_line(answer.body))};
    }
    const bool has_words = row != nullptr && !row->words.empty();
    ShipAnswer meant{.verdict = row != nullptr ? row->verdict : Verdict::kLater,
                     .why = fmt::format("{} {} {}{}", host, has_words ? row->words : "answers", answer.status,
                                        first_line(answer.body))};
    if (row != nullptr && !row->advice.empty()) meant.why += fmt::format("; {}", row->advice);
    meant.after = asked_delay(answer.retry_after, now);
    if (row != nullptr && row->is_for_people) meant.after = std::max(meant.after, kForPeople);
    return meant;
}

BlockPost::BlockPost(BlockPostOptions options, remote::Transport transport, core::Clock& clock)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      clock_(clock),
      host_(core::printable(core::fetch::url_authority(options_.server))) {}

ShipAnswer BlockPost::send(const stream::Piece& piece) {
    auto authorization = remote::read_authorization(options_.token_file, remote::CredentialKind::kBearer);
    if (!authorization) {
        refused_ = "";
        return {.verdict = Verdict::kLater,
                .after = kForPeople,
                .why = "the token cannot be used: " + core::in_one_line(authorization.error())};
    }
    const remote::PostRequest request{
        .url = upload_url(options_.server),
        .headers = {{"Content-Type", "application/octet-stream"}, {"User-Agent", options_.user_agent}},
        .authorization = *authorization,
        .body = piece.bytes};
    refused_.reset();
    auto answer = transport_(request);
    if (!answer) {
        const int number = answer.error().errno_value();
        return {.verdict = Verdict::kLater,
                .why = core::in_one_line(answer.error()),
                .errno_value = number != 0 ? std::optional<int64_t>(number) : std::nullopt};
    }
    if (answer->status == 401 || answer->status == 403) refused_ = *authorization;
    return judge_upload(*answer, piece.next, host_, clock_.now());
}

bool BlockPost::has_other_token() const {
    if (!refused_) return false;
    auto now = remote::read_authorization(options_.token_file, remote::CredentialKind::kBearer);
    return now && *now != *refused_;
}

}  // namespace belay::agent
