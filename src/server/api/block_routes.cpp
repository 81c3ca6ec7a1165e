#include "server/api/block_routes.h"

#include "core/log.h"
#include "core/utf8.h"
#include "http/blocking.h"
#include "server/blocks/upload.h"
#include "stream/cursor.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::server {

using http::Request;
using http::Response;

namespace {

nlohmann::ordered_json runs_json(const std::vector<BlockRun>& runs) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const BlockRun& run : runs) list.push_back({run.first, run.end});
    return list;
}

Response accepted_response(const Accepted& accepted) {
    const nlohmann::ordered_json answer = {
        {"stream", stream::to_text({accepted.stream, accepted.next_block})},
        {"next_block", accepted.next_block},
        {"new_blocks", accepted.new_blocks},
        {"known_blocks", accepted.known_blocks},
        {"gaps", runs_json(accepted.gaps)}};
    return Response::json(answer.dump() + "\n");
}

int status_of(const core::Error& error) {
    if (error.cause() == core::Cause::kNoSpace) return 507;
    if (error.kind() != core::ErrorKind::kBadInput) return 503;
    return error.cause() == core::Cause::kDenied ? 409 : 400;
}

// What went wrong here is for the log: the agent only has to know that it shall come again.
Response refused_response(const Request& request, const core::Error& error) {
    constexpr std::string_view kRetrySeconds = "10";
    const int status = status_of(error);
    core::log_warning("blocks of {}: {}", request.peer, error.headline());
    if (status < 500)
        return http::response_to(http::Refusal{status, core::printable(error.message()), error.hint_text()});
    const std::string_view why = status == 507 ? "the disk is full" : "the blocks could not be stored";
    return http::response_to(http::Refusal{status, std::string(why), "send them again later"})
        .with("retry-after", kRetrySeconds);
}

Response take_piece(const BlockReceiver& receiver, const Request& request) {
    const auto upload = read_upload(request.body);
    if (!upload) return refused_response(request, upload.error());
    const std::string& node = upload->session.node;
    if (!receiver.may_bring(request, upload->session.cluster, node))
        return http::response_to(http::Refusal{
            403, "blocks of the node " + core::printable(node) + " are not taken from this sender",
            "give its agent a token of the role node, for this node or for all"});
    const auto accepted = receiver.accept(*upload);
    return accepted ? accepted_response(*accepted) : refused_response(request, accepted.error());
}

}  // namespace

http::Route block_route(BlockReceiver receiver) {
    const auto shared = std::make_shared<const BlockReceiver>(std::move(receiver));
    return {.method = http::Method::kPost,
            .pattern = "/api/v1/blocks",
            .handler = http::blocking([shared](Request& request) { return take_piece(*shared, request); }),
            .body_limit = kMaxUploadBytes,
            .doc = "Stores a piece of a node stream; what was stored before is acknowledged again.",
            .takes = "application/octet-stream"};
}

}  // namespace belay::server
