// The tables of belayd's state, as numbered steps. A step that a release has had never changes: what is new is another one.
//
// Times are microseconds UTC, truths 0 and 1, words those of job.h, token_store.h and session_store.h. What is not known is null.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/database.h"
#include "database/lease.h"
#include "database/migration.h"

#include <array>
#include <string_view>

namespace belay::server {

// `sort_time` is by which jobs are listed: when it was submitted, else began, else was first seen. `nodes` is the list with
// commas, job_node the same for looking up.
inline constexpr std::string_view kJobTables = R"(
CREATE TABLE job (
  job_key {text} PRIMARY KEY, cluster {text} NOT NULL, job_id {int64} NOT NULL,
  array_job {int64}, array_task {int64}, restart {int64} NOT NULL,
  submit_time {int64}, start_time {int64}, end_time {int64},
  user_name {text}, account {text}, job_name {text}, partition_name {text}, slurm_state {text},
  nodes {text} NOT NULL, is_over {int64} NOT NULL,
  phase {text} NOT NULL, phase_why {text},
  sharing {text} NOT NULL, shares_last_words {int64} NOT NULL,
  origin {text} NOT NULL, first_seen {int64} NOT NULL, changed {int64} NOT NULL, sort_time {int64} NOT NULL) {strict};
CREATE INDEX job_by_time ON job (sort_time, job_key);
CREATE INDEX job_by_user ON job (user_name, sort_time, job_key);
CREATE INDEX job_by_account ON job (account, sort_time, job_key);
CREATE INDEX job_by_number ON job (job_id);
CREATE INDEX job_by_array ON job (array_job);
CREATE INDEX job_open ON job (job_key) WHERE is_over = 0 OR phase = 'none' OR phase = 'cutting';
CREATE TABLE job_node (
  node {text} NOT NULL, job_key {text} NOT NULL REFERENCES job (job_key), PRIMARY KEY (node, job_key)) {strict};
CREATE INDEX job_node_by_job ON job_node (job_key))";

inline constexpr std::string_view kAccountTables = R"(
CREATE TABLE account (name {text} PRIMARY KEY, parent {text}) {strict};
CREATE TABLE account_member (
  account {text} NOT NULL, user_name {text} NOT NULL, is_manager {int64} NOT NULL,
  PRIMARY KEY (user_name, account)) {strict})";

// Of a secret only the SHA-256 is kept. `parent` is the token with which this one was made, and ends with it.
inline constexpr std::string_view kTokenTable = R"(
CREATE TABLE token (
  id {text} PRIMARY KEY, digest {bytes} NOT NULL, role {text} NOT NULL, user_name {text} NOT NULL, project {text},
  may_change {int64} NOT NULL, job_key {text}, label {text}, made_by {text}, parent {text},
  created {int64} NOT NULL, expires {int64}, revoked {int64}, last_used {int64}) {strict};
CREATE INDEX token_by_user ON token (user_name, created);
CREATE INDEX token_by_parent ON token (parent))";

inline constexpr std::string_view kLinkTable = R"(
CREATE TABLE link (
  id {text} PRIMARY KEY, digest {bytes} NOT NULL, job_key {text} NOT NULL REFERENCES job (job_key),
  made_by {text} NOT NULL, is_staff {int64} NOT NULL, is_once {int64} NOT NULL,
  created {int64} NOT NULL, expires {int64} NOT NULL, taken {int64}) {strict};
CREATE INDEX link_by_job ON link (job_key);
CREATE INDEX link_by_maker ON link (made_by))";

inline constexpr std::string_view kSessionTables = R"(
CREATE TABLE session (
  id {text} PRIMARY KEY, digest {bytes} NOT NULL, user_name {text} NOT NULL, is_staff {int64} NOT NULL,
  proof {text} NOT NULL, job_key {text}, created {int64} NOT NULL, expires {int64} NOT NULL) {strict};
CREATE INDEX session_by_user ON session (user_name);
CREATE INDEX session_by_end ON session (expires);
CREATE TABLE login_attempt (
  state_digest {bytes} PRIMARY KEY, issuer {text} NOT NULL, nonce {text} NOT NULL, verifier {text} NOT NULL,
  browser_digest {bytes} NOT NULL, next_page {text} NOT NULL, expires {int64} NOT NULL) {strict};
CREATE INDEX login_attempt_by_end ON login_attempt (expires))";

inline constexpr std::string_view kAuditTable = R"(
CREATE TABLE audit (
  id {id}, at_time {int64} NOT NULL, who {text} NOT NULL, what {text} NOT NULL, job_key {text}, owner_name {text},
  peer {text}) {strict};
CREATE INDEX audit_by_who ON audit (who);
CREATE INDEX audit_by_owner ON audit (owner_name);
CREATE INDEX audit_by_job ON audit (job_key);
CREATE INDEX audit_by_time ON audit (at_time))";

inline constexpr std::string_view kNodeTables = R"(
CREATE TABLE node (
  cluster {text} NOT NULL, name {text} NOT NULL, token_id {text}, first_seen {int64} NOT NULL, last_upload {int64},
  PRIMARY KEY (cluster, name)) {strict};
CREATE TABLE setting (name {text} PRIMARY KEY, setting_value {text} NOT NULL) {strict})";

// What keeper/ knows of the jobs that it follows, as JSON.
inline constexpr std::string_view kFollowedTable =
    "CREATE TABLE followed_job (job_key {text} PRIMARY KEY, facts {text} NOT NULL) {strict}";

inline constexpr std::array kStateMigrations = {
    database::Migration{1, "leases", database::kLeaseTable},
    database::Migration{2, "jobs", kJobTables},
    database::Migration{3, "accounts", kAccountTables},
    database::Migration{4, "tokens", kTokenTable},
    database::Migration{5, "links", kLinkTable},
    database::Migration{6, "sessions", kSessionTables},
    database::Migration{7, "audit", kAuditTable},
    database::Migration{8, "nodes and settings", kNodeTables},
    database::Migration{9, "followed jobs", kFollowedTable},
};

// The database with all steps applied. Errors: those of Database::open and migrate.
core::Result<database::Database> open_state(std::string_view place, const core::Deadline& deadline,
                                            const database::DatabaseOptions& options = {});

}  // namespace belay::server
