#include "agent/courier/note.h"

#include "core/json.h"
#include "core/utf8.h"

#include <algorithm>
#include <iterator>

namespace belay::agent {

using core::bad_input;

namespace {

std::string short_text(std::string_view text) {
    return core::to_valid_utf8(core::utf8_prefix(text, kMostNoteText));
}

std::string text_of(const nlohmann::json& json, const char* key) {
    auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string encode_note(const Note& note) {
    nlohmann::json json{{"kind", std::string(row_of(note.kind).name)}};
    if (!note.subject.empty()) json["subject"] = short_text(note.subject);
    if (note.value) json["value"] = *note.value;
    if (note.code) json["code"] = *note.code;
    if (!note.message.empty()) json["message"] = short_text(note.message);
    return json.dump();
}

core::Result<Note> decode_note(std::string_view bytes) {
    const nlohmann::json json = core::parse_json(bytes);
    if (!json.is_object()) return bad_input("a note is a JSON object");
    const std::string name = text_of(json, "kind");
    const auto* row = std::ranges::find(kNoteRows, std::string_view(name), &NoteRow::name);
    if (row == std::end(kNoteRows)) return bad_input("a note of an unknown kind");
    Note note{.kind = row->kind, .subject = text_of(json, "subject"), .message = text_of(json, "message")};
    if (auto value = json.find("value"); value != json.end() && value->is_number())
        note.value = value->get<double>();
    if (auto code = json.find("code"); code != json.end() && code->is_number_integer() &&
                                       (!code->is_number_unsigned() || code->get<uint64_t>() <= INT64_MAX))
        note.code = core::integer_from<int64_t>(*code);
    return note;
}

}  // namespace belay::agent
