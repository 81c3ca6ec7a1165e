#include "transfer/session.h"

#include <utility>

namespace belay::transfer {

namespace {

constexpr std::string_view kUseForMessages = "message";
static_assert(kProtocolName.back() == '0' + kProtocolVersion);

std::string_view name_of(Side side) {
    return side == Side::kServer ? "server" : "client";
}

std::string_view mac_of(const core::Sha256Digest& digest) {
    return core::bytes_of(digest).substr(0, kMacBytes);
}

core::Sha256Digest digest_of_message(const core::Sha256Digest& key, uint64_t number, uint8_t type,
                                     std::string_view body) {
    std::string text;
    text.reserve(sizeof number + sizeof type + body.size());
    put_u64(text, number);
    text += static_cast<char>(type);
    text += body;
    return core::hmac_sha256(core::bytes_of(key), text);
}

}  // namespace

core::Failure changed_on_its_way() {
    return core::system_error(
               "a message is not what the other node sent: somebody else takes part in this connection")
        .because(core::Cause::kDenied)
        .hint(
            "look for a program that passes on what the nodes send, such as one that listens at the same "
            "port "
            "of the first node; a faulty network card or memory does the same");
}

Session::Session(const Facts& facts, Side own)
    : extracted_(
          core::hkdf_extract(std::string(facts.server_nonce).append(facts.client_nonce), facts.secret)),
      purpose_(facts.purpose),
      rank_(facts.rank),
      own_(own) {}

core::Sha256Digest Session::key(std::string_view use, Side sender) const {
    std::string info;
    for (const std::string_view part : {kProtocolName, use, name_of(sender), std::string_view(purpose_)}) {
        put_u32(info, static_cast<uint32_t>(part.size()));
        info += part;
    }
    put_u32(info, rank_);
    return core::hkdf_expand(extracted_, info);
}

core::Sha256Digest Session::key_to_send(std::string_view use) const {
    return key(use, own_);
}

core::Sha256Digest Session::key_to_receive(std::string_view use) const {
    return key(use, own_ == Side::kServer ? Side::kClient : Side::kServer);
}

Seals::Seals(Session session)
    : session_(std::move(session)),
      key_to_send_(session_.key_to_send(kUseForMessages)),
      key_to_receive_(session_.key_to_receive(kUseForMessages)) {}

std::string Seals::encode(const Message& message) {
    const auto digest = digest_of_message(key_to_send_, sent_++, message.type, message.body);
    return transfer::encode({message.type, message.body + std::string(mac_of(digest))});
}

core::Result<Message> Seals::open(Message sealed) {
    if (sealed.body.size() < kMacBytes) return changed_on_its_way();
    const std::string mac = sealed.body.substr(sealed.body.size() - kMacBytes);
    sealed.body.resize(sealed.body.size() - kMacBytes);
    const auto digest = digest_of_message(key_to_receive_, received_, sealed.type, sealed.body);
    if (!core::same_bytes(mac_of(digest), mac)) return changed_on_its_way();
    ++received_;
    return sealed;
}

}  // namespace belay::transfer
