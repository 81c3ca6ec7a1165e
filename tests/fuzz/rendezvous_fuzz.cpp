// What a node of a step may be sent by anybody: the stream of messages, challenges, proofs of the secret, and the
// bodies of vetting's messages. However the stream is cut, the same messages come out; nobody proves a secret or seals a
// message by chance, and what is sealed comes out as it was; what is accepted is bounded.
#include "transfer/handshake.h"
#include "transfer/message.h"
#include "transfer/session.h"
#include "vet/protocol.h"
#include "vet/step_wire.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace belay;

namespace {

constexpr size_t kLimit = 4096;

std::vector<transfer::Message> messages_of(std::string_view stream, size_t piece) {
    transfer::MessageParser parser(kLimit);
    std::vector<transfer::Message> messages;
    for (size_t at = 0; at < stream.size(); at += piece) {
        parser.feed(stream.substr(at, piece));
        for (;;) {
            auto message = parser.next();
            if (!message) return messages;  // the stream is useless from here on
            if (!*message) break;
            if ((*message)->body.size() > kLimit) abort();
            messages.push_back(std::move(**message));
        }
    }
    return messages;
}

transfer::Seals seals_of(transfer::Side side) {
    constexpr transfer::Session::Facts kFacts{
        .secret = "secret", .purpose = "step", .server_nonce = "server", .client_nonce = "client"};
    return transfer::Seals(transfer::Session(kFacts, side));
}

void seal(const std::vector<transfer::Message>& messages) {
    auto server = seals_of(transfer::Side::kServer), client = seals_of(transfer::Side::kClient);
    transfer::MessageParser parser(kLimit + transfer::kMacBytes);
    for (const transfer::Message& message : messages) {
        if (client.open(message)) abort();
        parser.feed(server.encode(message));
        if (client.open(parser.next().value().value()).value() != message) abort();
    }
}

void read_body(std::string_view body) {
    const std::string nonce(transfer::kNonceBytes, 'n');
    if (transfer::check_proof(body, "secret", "step", nonce)) abort();
    if (const auto challenge = transfer::decode_challenge(body))
        if (transfer::encode_challenge(challenge->nonce, challenge->offer) != body) abort();
    if (auto report = vet::decode_report(body, 2); report && report->results.size() > 2) abort();
    if (auto order = vet::decode_pair_order(body); order && order->duration < core::Duration::zero()) abort();
    if (auto answer = vet::decode_pair_answer(body); answer && answer->bytes_per_second.value_or(0) < 0)
        abort();
    auto verdicts = vet::decode_verdict(body);
    if (!verdicts) return;
    // What was understood can be told on and is understood again.
    auto again = vet::decode_verdict(vet::VerdictMessages(*verdicts).for_rank(0));
    if (!again || again->passed != verdicts->passed) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view stream(reinterpret_cast<const char*>(data), size);
    auto whole = messages_of(stream, stream.empty() ? 1 : stream.size());
    if (whole != messages_of(stream, 1) || whole != messages_of(stream, 7)) abort();
    seal(whole);
    for (const transfer::Message& message : whole) read_body(message.body);
    read_body(stream);
    return 0;
}
