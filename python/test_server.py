"""belay_record.Server against a server of the test: what it sends, to whom, how often, and what it makes of the answers."""

import datetime
import email.utils
import json
import os
import socket
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import belay_record
from belay_record import BelayError, Server
from stub_server import Answer, StubServer, error

TOKEN = "secret-token-of-ada"


class ServerTest(unittest.TestCase):
    """With a home of its own, so that no token of the person who runs this is sent, and without waiting."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        patch = unittest.mock.patch.dict(os.environ, {"HOME": self.directory, "XDG_CONFIG_HOME": ""})
        patch.start()
        self.addCleanup(patch.stop)
        os.environ.pop("BELAY_TOKEN", None)
        self.slept = []
        patch = unittest.mock.patch.object(belay_record, "_sleep", self.slept.append)
        patch.start()
        self.addCleanup(patch.stop)

    def serve(self, answers, **options):
        stub = StubServer({"/api/v1/" + path: answer for path, answer in answers.items()}, **options)
        stub.__enter__()
        self.addCleanup(stub.__exit__)
        return stub

    def error_of(self, function, *arguments, **options):
        with self.assertRaises(BelayError) as caught:
            function(*arguments, **options)
        return caught.exception


class TestRequests(ServerTest):
    def test_each_question_has_its_path_and_the_token(self):
        findings = {"findings": [{"id": "hang"}], "evaluated": ["hang"], "skipped": []}
        stub = self.serve({"me": Answer(body={"user": "ada"}), "jobs/alps%3A4711": Answer(body={"key": "alps:4711"}),
                           "jobs/a%20b/score": Answer(body={"score": 45.1}), "jobs/1/summary": Answer(body={"text": "x"}),
                           "jobs/1/findings": Answer(body=findings), "jobs/1/report": Answer(body="<p>é</p>".encode()),
                           "projects/g42/digest": Answer(body={"jobs": 3})})
        server = Server(stub.url, TOKEN)
        self.assertEqual(server.me(), {"user": "ada"})
        self.assertEqual(server.job("alps:4711"), {"key": "alps:4711"})
        self.assertEqual(server.score("a b"), {"score": 45.1})
        self.assertEqual(server.summary(1), {"text": "x"})
        self.assertEqual(server.findings("1")[0]["id"], "hang")
        self.assertEqual(server.report("1"), "<p>é</p>")
        self.assertEqual(server.digest("g42"), {"jobs": 3})
        self.assertEqual({request.headers["Authorization"] for request in stub.requests}, {f"Bearer {TOKEN}"})
        self.assertEqual({request.method for request in stub.requests}, {"GET"})
        self.assertNotIn(TOKEN, repr(server))

    def test_a_query_is_posted(self):
        stub = self.serve({"jobs/1/query": Answer(body={"columns": ["n"], "rows": [[3]]})})
        self.assertEqual(Server(stub.url).query("1", "SELECT 3 AS n")["n"], [3])
        request = stub.requests[0]
        self.assertEqual((request.method, json.loads(request.body)), ("POST", {"sql": "SELECT 3 AS n"}))
        self.assertEqual(request.headers["Content-Type"], "application/json")
        self.assertNotIn("Authorization", request.headers)

    def test_jobs_of_all_pages(self):
        def page(request):
            if "cursor=b%26c" in request.path:
                return Answer(body={"jobs": [{"key": "3"}], "next": None})
            return Answer(body={"jobs": [{"key": "1"}, {"key": "2"}], "next": "b&c"})
        stub = self.serve({"jobs": page})
        since = datetime.datetime(2026, 3, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
        jobs = Server(stub.url).jobs(user="a&b", since=since, until="2026-04-01T00:00:00Z")
        self.assertEqual([job["key"] for job in jobs], ["1", "2", "3"])
        self.assertEqual(stub.requests[0].path, "/api/v1/jobs?user=a%26b&since=2026-03-01T12%3A00%3A00.000000Z"
                         "&until=2026-04-01T00%3A00%3A00Z&limit=200")
        self.assertEqual(len(stub.requests), 2)

    def test_jobs_up_to_a_limit(self):
        stub = self.serve({"jobs": Answer(body={"jobs": [{"key": "1"}, {"key": "2"}], "next": "c"})})
        self.assertEqual([job["key"] for job in Server(stub.url).jobs(limit=1)], ["1"])
        self.assertIn("limit=1", stub.requests[0].path)
        self.assertEqual(Server(stub.url).jobs(limit=0), [])
        self.assertEqual(len(stub.requests), 1)

    def test_pages_that_never_end_are_an_error(self):
        stub = self.serve({"jobs": Answer(body={"jobs": [], "next": "same"})})
        self.assertIn("the same page of jobs again", self.error_of(Server(stub.url).jobs).message)
        stub.answers["/api/v1/jobs"] = Answer(body={"jobs": 3})
        self.assertIn("not a list of jobs", self.error_of(Server(stub.url).jobs).message)

    def test_a_time_without_a_zone_is_refused(self):
        server = Server("http://127.0.0.1:9")
        self.assertIn("time zone", self.error_of(server.jobs, since=datetime.datetime(2026, 3, 1)).message)

    def test_names_stay_one_segment_of_the_path(self):
        stub = self.serve({})
        server = Server(stub.url, TOKEN)
        for key in ("", ".", "..", "a/b", "../projects"):
            self.error_of(server.job, key)
        self.assertEqual(stub.requests, [])
        self.error_of(server.job, "a?b#c%2F\n")
        self.assertEqual(stub.requests[0].path, "/api/v1/jobs/a%3Fb%23c%252F%0A")

    def test_a_server_below_a_path(self):
        stub = self.serve({})
        stub.answers["/belay/api/v1/me"] = Answer(body={"user": "ada"})
        self.assertEqual(Server(stub.url + "/belay/").me(), {"user": "ada"})


class TestErrors(ServerTest):
    def test_the_servers_words(self):
        stub = self.serve({"jobs/1": error(404, "there is no job 1", "belay jobs lists them")})
        failed = self.error_of(Server(stub.url).job, "1")
        self.assertEqual((failed.status, failed.hint), (404, "belay jobs lists them"))
        self.assertEqual(failed.message, "127.0.0.1: there is no job 1")

    def test_without_a_token_it_says_where_one_goes(self):
        stub = self.serve({"me": error(401, "who are you?")})
        self.assertIn(os.path.join(self.directory, ".config", "belay", "token"), self.error_of(Server(stub.url).me).hint)

    def test_whatever_the_body_is_the_status_is_told(self):
        for body in (b"", b"<html>", b"[]", b'{"error": 3}', b'{"error": {"message": 3, "hint": 3}}', b"[" * 50_000, b"x" * 100_000):
            stub = self.serve({"me": Answer(500, body)})
            failed = self.error_of(Server(stub.url).me)
            self.assertEqual((failed.status, failed.message), (500, "127.0.0.1: status 500 Internal Server Error"), body[:20])

    def test_words_for_terminals_are_made_harmless(self):
        stub = self.serve({"me": error(403, "no\x1b[2J\n", "\x07")})
        failed = self.error_of(Server(stub.url).me)
        self.assertEqual((failed.message, failed.hint), ("127.0.0.1: no\ufffd[2J\ufffd", "\ufffd"))

    def test_a_redirection_is_not_followed(self):
        other = self.serve({"me": Answer(body={})})
        stub = self.serve({"me": Answer(302, headers={"Location": other.url + "/api/v1/me"})})
        failed = self.error_of(Server(stub.url, TOKEN).me)
        self.assertEqual(failed.status, 302)
        self.assertIn(other.url, failed.message)
        self.assertEqual(other.requests, [])

    def test_answers_that_are_none(self):
        for body in (b"", b"no", b"[" * 100_000, b"\xff"):
            stub = self.serve({"me": Answer(body=body)})
            self.assertIn("not the JSON", self.error_of(Server(stub.url).me).message)
        stub = self.serve({"jobs/1/query": Answer(body={"columns": ["a"], "rows": [[1, 2]]}), "jobs/1/findings": Answer(body=[])})
        self.assertIn("not a table", self.error_of(Server(stub.url).query, "1", "SELECT 1").message)
        self.assertIn("does not hold findings", self.error_of(Server(stub.url).findings, "1").message)

    def test_an_answer_that_breaks_off(self):
        for head in (b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
                     b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{"):
            stub = self.serve({"me": Answer(write=lambda file, head=head: file.write(b"HTTP/1.1 200 OK\r\n" + head))})
            self.assertIn("broke off", self.error_of(Server(stub.url).me).message, head)

    def test_an_answer_that_is_too_large(self):
        stub = self.serve({"me": Answer(body=b'"' + b"x" * 200_000 + b'"')})
        with unittest.mock.patch.object(belay_record, "_MOST_BYTES", 1 << 17), \
                unittest.mock.patch.object(belay_record._Answer.read_all, "__defaults__", (1 << 17,)):
            self.assertIn("larger than 131072 bytes", self.error_of(Server(stub.url).me).message)
        self.assertEqual(len(Server(stub.url).me()), 200_000)

    def test_a_server_that_is_silent_or_gone(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            server = Server(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
            failed = self.error_of(server.me)
            self.assertIn("does not answer", failed.message)
            self.assertIsNone(failed.status)
        self.assertIn("cannot reach 127.0.0.1", self.error_of(server.me).message)

    def test_an_answer_that_is_not_http(self):
        stub = self.serve({"me": Answer(write=lambda file: file.write(b"SSH-2.0-OpenSSH\r\n"))})
        self.assertIn("does not answer", self.error_of(Server(stub.url).me).message)


class TestComingLater(ServerTest):
    def test_a_get_is_sent_again_when_the_server_says(self):
        stub = self.serve({"me": [error(503, "busy", headers={"Retry-After": "7"}), error(429, "slowly"), Answer(body={"user": "ada"})]})
        self.assertEqual(Server(stub.url).me(), {"user": "ada"})
        self.assertEqual(self.slept, [7, 2])

    def test_four_times_at_most(self):
        stub = self.serve({"me": error(503, "busy", headers={"Retry-After": "0"})})
        self.assertEqual(self.error_of(Server(stub.url).me).status, 503)
        self.assertEqual((len(stub.requests), len(self.slept)), (4, 3))

    def test_for_a_minute_at_most(self):
        stub = self.serve({"me": error(503, "busy", headers={"Retry-After": "35"})})
        self.assertEqual(self.error_of(Server(stub.url).me).status, 503)
        self.assertEqual(self.slept, [35])
        stub.answers["/api/v1/me"] = error(503, "busy", headers={"Retry-After": email.utils.formatdate(time.time() + 3600)})
        self.error_of(Server(stub.url).me)
        self.assertEqual(self.slept, [35])

    def test_a_date_in_the_past_and_nonsense(self):
        past = error(503, "busy", headers={"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"})
        stub = self.serve({"me": [past, error(503, "busy", headers={"Retry-After": "soon"}), Answer(body={})]})
        Server(stub.url).me()
        self.assertEqual(self.slept, [0, 2])

    def test_a_query_is_never_sent_twice_nor_other_failures(self):
        stub = self.serve({"jobs/1/query": error(503, "busy", headers={"Retry-After": "0"}), "me": error(500, "broken")})
        self.assertEqual(self.error_of(Server(stub.url).query, "1", "SELECT 1").status, 503)
        self.assertEqual(self.error_of(Server(stub.url).me).status, 500)
        self.assertEqual((len(stub.requests), self.slept), (2, []))


class TestTokens(ServerTest):
    def token_file(self, text, mode=0o600):
        path = os.path.join(self.directory, ".config", "belay", "token")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def sent(self, **options):
        stub = self.serve({"me": Answer(body={})})
        Server(stub.url, **options).me()
        return stub.requests[0].headers.get("Authorization")

    def test_where_it_comes_from(self):
        self.assertIsNone(self.sent())
        self.token_file("of-the-file\n")
        self.assertEqual(self.sent(), "Bearer of-the-file")
        os.environ["BELAY_TOKEN"] = "of-the-environment"
        self.assertEqual(self.sent(), "Bearer of-the-environment")
        self.assertEqual(self.sent(token="of-the-call"), "Bearer of-the-call")
        self.assertIsNone(self.sent(token=""))

    def test_the_directory_of_settings(self):
        path = self.token_file("moved")
        os.renames(path, os.path.join(self.directory, "xdg", "belay", "token"))
        self.assertIsNone(self.sent())
        os.environ["XDG_CONFIG_HOME"] = os.path.join(self.directory, "xdg")
        self.assertEqual(self.sent(), "Bearer moved")

    def test_a_file_that_others_may_read_is_refused(self):
        path = self.token_file("open", 0o640)
        failed = self.error_of(Server, "http://127.0.0.1:9")
        self.assertEqual(failed.hint, f"chmod 600 {path}")
        os.remove(path)
        os.mkfifo(path, 0o600)
        self.error_of(Server, "http://127.0.0.1:9")

    def test_what_no_token_can_be(self):
        for token in ("two words", "line\nX-Evil: 1", "é", "tab\t"):
            self.error_of(Server, "http://127.0.0.1:9", token)
        self.token_file("\n")
        self.assertNotIn("two", str(self.error_of(Server, "http://127.0.0.1:9")))

    def test_not_over_plain_http_to_another_machine(self):
        for host in ("belay.example.org", "192.0.2.1", "[2001:db8::1]", "127.0.0.1.example.org", "0.0.0.0"):
            failed = self.error_of(Server, f"http://{host}/", TOKEN)
            self.assertIn("without TLS", failed.message)
            Server(f"http://{host}/")
            Server(f"https://{host}/", TOKEN)
        for host in ("127.0.0.1", "127.1.2.3", "[::1]", "localhost", "[::ffff:127.0.0.1]"):
            Server(f"http://{host}:9", TOKEN)

    def test_localhost_that_is_another_machine(self):
        stub = self.serve({"me": Answer(body={})})
        server = Server(stub.url.replace("127.0.0.1", "localhost"), TOKEN)
        with unittest.mock.patch("socket.socket.getpeername", lambda _: ("192.0.2.1", 80)):
            self.assertIn("another machine", self.error_of(server.me).message)
        self.assertEqual(stub.requests, [])

    def test_addresses_that_are_none(self):
        for url in ("", "belay.example.org", "ftp://belay.example.org", "https://", "https://ada:pw@belay.example.org",
                    "https://belay.example.org/?a=1", "https://belay.example.org/#a", "http://127.0.0.1:99999", "http://127.0.0.1:x"):
            self.assertIn("is not the address of a server", self.error_of(Server, url, "").message)


class TestTls(ServerTest):
    def certificate(self, name, subject):
        files = [os.path.join(self.directory, name + end) for end in (".pem", ".key")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                        "-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}", "-out", files[0], "-keyout", files[1]],
                       check=True, capture_output=True, timeout=60)
        return files

    def test_only_a_certificate_that_can_be_verified_gets_the_token(self):
        own, other, elsewhere = (self.certificate("own", "IP:127.0.0.1"), self.certificate("other", "IP:127.0.0.1"),
                                 self.certificate("elsewhere", "IP:192.0.2.1"))
        stub = self.serve({"me": Answer(body={"user": "ada"})}, certificate=own)
        self.assertEqual(Server(stub.url, TOKEN, ca_file=own[0]).me(), {"user": "ada"})
        self.assertEqual(len(stub.requests), 1)
        for ca_file in (other[0], None):
            failed = self.error_of(Server(stub.url, TOKEN, ca_file=ca_file).me)
            self.assertIn("cannot reach 127.0.0.1: ", failed.message)
            self.assertIn("ca_file", failed.hint)
        wrong = self.serve({"me": Answer(body={})}, certificate=elsewhere)
        self.assertIn("IP address mismatch", self.error_of(Server(wrong.url, TOKEN, ca_file=elsewhere[0]).me).message)
        self.assertEqual((len(stub.requests), wrong.requests), (1, []))

    def test_authorities_that_cannot_be_read(self):
        self.assertIn("cannot read the authorities", self.error_of(Server, "https://127.0.0.1", "", ca_file="/nonexistent").message)

    def test_a_server_without_tls(self):
        stub = self.serve({})
        self.assertIn("cannot reach", self.error_of(Server(stub.url.replace("http:", "https:"), TOKEN).me).message)
        self.assertEqual(stub.requests, [])


if __name__ == "__main__":
    unittest.main()
