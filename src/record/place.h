// A record on disk: a directory, beneath which everything is reached without following a link, and which only
// its owner changes.
#pragma once

#include "core/directory.h"
#include "core/new_file.h"
#include "record/manifest.h"

#include <filesystem>
#include <string_view>

namespace belay::record {

inline constexpr std::string_view kManifestName = "record.json";
inline constexpr std::string_view kSegmentsName = "segments";
inline constexpr std::string_view kLostSegmentsName = "segments-lost";  // of which a part is in no table
inline constexpr std::string_view kTablesName = "tables";
inline constexpr std::string_view kAnnexesName = "annexes";  // what came after it was sealed

// For messages, and for tests.
inline std::filesystem::path manifest_path(const std::filesystem::path& record) {
    return record / kManifestName;
}
inline std::filesystem::path segments_path(const std::filesystem::path& record) {
    return record / kSegmentsName;
}
inline std::filesystem::path lost_segments_path(const std::filesystem::path& record) {
    return record / kLostSegmentsName;
}
inline std::filesystem::path tables_path(const std::filesystem::path& record) {
    return record / kTablesName;
}

// To read, whoever it belongs to. Errors: kBadInput if there is no record; kSystem.
core::Result<core::Directory> open_record(const std::filesystem::path& record);
core::Result<Manifest> read_manifest(const core::Directory& record);
core::Result<Manifest> read_manifest(const std::filesystem::path& record);

// Whether a record may be begun or joined there: nothing is there, or a directory of this user's own that is
// empty or holds a record. One whose name can be guessed may have been put there by somebody else. Errors:
// kBadInput.
core::Result<> check_place(const std::filesystem::path& record);

// Makes the record's directory, 0700, and in it a manifest and a place for segments; or joins a record of the
// same job that another recorder has begun. An empty directory that is there already keeps its mode. Errors:
// kBadInput if the directory holds a record of another job or a sealed one, or belongs to another user;
// kSystem.
core::Result<> begin_record(const std::filesystem::path& record, const Manifest& manifest);

// In a record that claim_record() gave, or that nobody else knows of. Errors: kSystem.
core::Result<> replace_manifest(const core::Directory& record, const Manifest& manifest);

// To add a segment: while a recorder holds this, nobody seals the record. It takes it, makes its segment
// (whose own lock then says that it is being written) and lets go. Errors: kBadInput if the record is sealed,
// is being sealed or belongs to another user; kSystem.
core::Result<core::Directory> join_record(const std::filesystem::path& record);
// To seal the record or to add tables to it: while somebody holds this, no recorder joins. Errors: kBadInput
// if somebody else holds it, is just joining, or owns the record; kSystem.
core::Result<core::Directory> claim_record(const std::filesystem::path& record);

// Errors: kBadInput if what has this name in the record belongs to another user than this one.
core::Result<> check_own(const core::Directory& record, std::string_view name);

// What is made in a record can be read by whoever may read the directory in which it is made, whatever the
// umask: `chmod -R g+rX RECORD` shares what comes later, too. Errors: kSystem.
core::Result<> make_directory(const core::Directory& record, std::string_view name);
core::Result<core::Descriptor> create_file(const core::Directory& directory, std::string_view name);
core::Result<core::NewFile> begin_file(const core::Directory& record, std::string_view name);

}  // namespace belay::record
