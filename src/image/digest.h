// SHA-256, by which everything of an image is known.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace belay::image {

class Hasher {
  public:
    Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    ~Hasher();

    void update(std::string_view bytes);
    // "sha256:<64 hex>" of what was added; afterwards the hasher begins anew.
    std::string finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

std::string digest_of(std::string_view bytes);

// The 64 digits of a digest, for names of files.
std::string_view hex_of(std::string_view digest);
// "sha256:1234567890ab": enough to tell blobs apart in a message.
std::string short_digest(std::string_view digest);

}  // namespace belay::image
