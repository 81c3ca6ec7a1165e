// Where connections arrive. Who came and has not yet proved that it belongs to the step is a stranger: it
// costs the others nothing but a place, which it gives back when places run out.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "core/time.h"
#include "transfer/handshake.h"
#include "transfer/shortage.h"

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belay::transfer {

// How long a connection may stand without a proof: in general, and once there is no room for others.
struct Patience {
    core::Duration stranger = std::chrono::seconds(5);
    core::Duration stranger_without_room = std::chrono::milliseconds(500);
};

// Connections of strangers that may stand at the same time, beside one place for each rank.
inline constexpr size_t kPlacesForStrangers = 256;

struct Stranger {
    std::string source;  // source_of() its connection
    core::Duration since{};
};
// Which of the strangers, in the order in which they came, gives its place to the next one: the first from
// the source that has the most of them, so that who opens many connections displaces only his own. Where no
// source has two, the first of all, unless it came less than `patience` ago and may be a node that is about
// to prove itself; then nobody.
std::optional<size_t> who_gives_way(std::span<const Stranger> strangers, core::Duration now,
                                    core::Duration patience);

class Reception {
  public:
    struct Settings {
        std::string secret;
        std::string offer = {};  // from which others learn the secret (handshake.h)
        std::string purpose;
        uint32_t first_rank = 0;  // ranks that may prove themselves: from this one to below `ranks`
        uint32_t ranks = 0;
        Patience patience = {};
    };
    // The listener is the caller's and has to live longer.
    Reception(int listener, Settings settings);

    // A member's message, and when it arrived, in nanoseconds of the wall clock; false if it means nothing
    // here, which ends the connection.
    using Handler = std::function<bool(uint32_t rank, Message message, int64_t received)>;
    // Waits for one round of events, at most a second, so that strangers are turned away in time; also until
    // `wake` can be read, if it is not negative. Errors: kSystem if the machine fails, never for what a peer
    // did.
    core::Result<> step(Deadline deadline, const Handler& handler, int wake = -1);

    bool is_member(uint32_t rank) const { return member(rank) != nullptr; }
    // The connection of a rank that has been welcomed, which is no longer served here; nothing while there is
    // none. Only where members wait to be told what comes next.
    std::optional<Channel> take_member();
    // Queues a message; false if the rank is not connected.
    bool send(uint32_t rank, const Message& message);
    bool all_is_sent() const;
    // -1 if the rank is not connected.
    int socket_of(uint32_t rank) const;

    // Why this side hung up on a rank, or how its connection ended; until it comes again.
    std::optional<core::Error> refused(uint32_t rank) const;
    // Why the last stranger was turned away that proved something wrong.
    const std::optional<core::Error>& last_refusal() const { return last_refusal_; }
    const Shortage& shortage() const { return shortage_; }
    bool has_strangers() const;

  private:
    struct Connection {
        core::Descriptor socket;
        MessageParser parser;
        std::string nonce;
        std::string outgoing;
        std::optional<uint32_t> rank;  // once it has proved itself
        std::optional<Seals> seals;    // likewise
        Stranger stranger;
        bool broken = false;
        std::optional<core::Error> end;  // why, of a member
    };
    using Connections = std::list<Connection>;

    Connection* member(uint32_t rank) const { return rank < members_.size() ? members_[rank] : nullptr; }
    core::Result<> accept_waiting();
    void admit(core::Descriptor socket, std::string nonce);
    bool make_place();
    void rest_for_want_of(int lack);
    void read_from(Connection& connection, const Handler& handler);
    void prove(Connection& connection, const std::string& body);
    static void break_off(Connection& connection, core::Error why);
    static void write_to(Connection& connection);
    Connections::iterator end(Connections::iterator connection);
    void drop_broken();

    int listener_;
    Settings settings_;
    Shortage shortage_;
    Connections connections_;           // in the order in which they came
    std::vector<Connection*> members_;  // by rank
    std::map<uint32_t, core::Error> refused_;
    std::optional<core::Error> last_refusal_;
};

// The next one that proves to know the secret, of any rank below `ranks`; all who connect meanwhile are heard
// at the same time. Errors: kSystem; kTimedOut at the deadline, with why the last one was turned away.
core::Result<Channel> accept_introduced(int listener, std::string_view secret, std::string_view purpose,
                                        uint32_t ranks, Deadline deadline);

}  // namespace belay::transfer
