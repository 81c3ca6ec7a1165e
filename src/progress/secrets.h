// Passwords, tokens and keys in what programs print, so that a record that is shared does not give them away.
#pragma once

#include <string>
#include <vector>

namespace belay::progress {

inline constexpr const char* kMaskedText = "[masked]";

// Puts kMaskedText in the place of values of keys that name a secret ("password=…", "HF_TOKEN: …"), of tokens
// that are known by their shape (of GitHub, GitLab, Hugging Face, OpenAI, Slack, AWS, Google, npm; JSON Web
// Tokens), of what follows "Bearer" or "Authorization:", of the password in a URL, and of private keys in
// PEM, also one of which only the end is there. It knows these shapes and no others: a secret that is printed
// alone is not found.
void mask_secrets(std::vector<std::string>& lines);

}  // namespace belay::progress
