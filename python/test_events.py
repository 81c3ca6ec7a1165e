"""Server-sent events of belay_record: what a stream says, and how it goes on after the connection ended."""

import itertools
import threading
import unittest
import unittest.mock

import belay_record
from belay_record import Event, Server
from stub_server import Answer, error
from test_server import TOKEN, ServerTest

PATH = "jobs/1/events"


def stream(text, status=200, kind="text/event-stream; charset=utf-8"):
    """A stream that ends after this text."""
    return Answer(status, text.encode(), {"Content-Type": kind})


class TestStream(unittest.TestCase):
    def taken(self, text, last_id=None):
        events = belay_record._EventStream(last_id)
        taken = [events.take(line) for line in text.encode("utf-8", "surrogateescape").splitlines(keepends=True)]
        return [event for event in taken if event is not None], events

    def test_what_the_standard_says(self):
        for text, expected in (
                ("data: a\n\n", [Event(None, "message", "a")]),
                ("\ufeffdata: a\n\n", [Event(None, "message", "a")]),
                ("data:a\r\ndata: b\r\n\r\n", [Event(None, "message", "a\nb")]),
                ("data:  two\n\n", [Event(None, "message", " two")]),
                ("event: state\nid: 7\ndata: {\"state\": \"running\"}\n\n", [Event("7", "state", {"state": "running"})]),
                (":\n\n: words\ndata\n\n", [Event(None, "message", "")]),
                ("event: none\n\ndata: 3\n\n", [Event(None, "message", 3)]),
                ("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [
                    Event("1", "message", "a"), Event("1", "message", "b"), Event("", "message", "c")]),
                ("id: a\0b\ndata: x\n\n", [Event(None, "message", "x")]),
                ("other: x\ndata: y\n\ndata: unfinished\n", [Event(None, "message", "y")]),
                ("data: " + "[" * 100_000 + "\n\n", [Event(None, "message", "[" * 100_000)])):
            self.assertEqual(self.taken(text)[0], expected, text[:40])

    def test_when_to_come_again(self):
        for text, seconds in (("retry: 250\n", 0.25), ("retry: soon\n", None), ("retry: -1\n", None), ("retry: ²\n", None)):
            self.assertEqual(self.taken(text)[1].retry, seconds)

    def test_an_event_that_is_too_long(self):
        with unittest.mock.patch.object(belay_record, "_MOST_EVENT_BYTES", 100):
            self.taken("data: 0123456789\n" * 5 + "\n" + "data: 0123456789\n" * 5)
            with self.assertRaises(belay_record.BelayError):
                self.taken("data: 0123456789\n" * 6)


class TestEvents(ServerTest):
    def ids_sent(self, stub):
        return [request.headers.get("Last-Event-ID") for request in stub.requests]

    def test_it_goes_on_after_the_last_event(self):
        stub = self.serve({PATH: [stream("retry: 5000\nid: 1\ndata: {\"n\": 1}\n\nid: 2\ndata: 2\n\nid: 3\ndata: lost"),
                                  stream("id: é\ndata: 3\n\n"), stream("", 204)]})
        events = list(Server(stub.url, TOKEN).events("1"))
        self.assertEqual(events, [Event("1", "message", {"n": 1}), Event("2", "message", 2), Event("é", "message", 3)])
        self.assertEqual(self.ids_sent(stub), [None, "3", "é".encode().decode("latin-1")])
        self.assertEqual(self.slept, [5, 5])
        self.assertEqual({request.headers["Authorization"] for request in stub.requests}, {f"Bearer {TOKEN}"})

    def test_from_an_event_that_was_seen_before(self):
        stub = self.serve({PATH: stream("", 204)})
        self.assertEqual(list(Server(stub.url).events("1", last_id="41")), [])
        self.assertEqual(self.ids_sent(stub), ["41"])

    def test_pieces_of_a_stream_without_a_length(self):
        def write(file):
            file.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for piece in (b"da", b"ta: {\"a\":", b" 1}\n", b"\ndata: 2\n\n"):
                file.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                file.flush()
            file.write(b"5\r\ndat")  # and breaks off
        stub = self.serve({PATH: [Answer(write=write), stream("", 204)]})
        self.assertEqual([event.data for event in Server(stub.url).events("1")], [{"a": 1}, 2])

    def test_heartbeats_are_signs_of_life(self):
        stub = self.serve({PATH: [*[stream(":\n\n")] * 30, stream("", 204)]})
        self.assertEqual(list(Server(stub.url).events("1")), [])
        self.assertEqual(len(stub.requests), 31)
        self.assertEqual(set(self.slept), {1})

    def test_ten_connections_that_bring_nothing_are_an_error(self):
        stub = self.serve({PATH: stream("")})
        failed = self.error_of(list, Server(stub.url).events("1"))
        self.assertIn("the stream of events ended", failed.message)
        self.assertEqual(len(stub.requests), 10)
        self.assertEqual(self.slept, [1, 2, 4, 8, 16, 32, 60, 60, 60])

    def test_a_server_that_is_silent_is_asked_again(self):
        def silent(file):
            file.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
            file.flush()
            self.silent.wait(30)
        self.silent = threading.Event()
        stub = self.serve({PATH: [Answer(write=silent), stream("", 204)]})
        events = Server(stub.url).events("1", silence=3)
        self.assertEqual([event.data for event in events], [1])
        self.silent.set()

    def test_a_server_that_starts_again_is_waited_for(self):
        stub = self.serve({PATH: [stream("id: 1\ndata: 1\n\n"), error(503, "starting", headers={"Retry-After": "9"}), error(502, "no"),
                                  stream("id: 2\ndata: 2\n\n"), stream("", 204)]})
        self.assertEqual([event.data for event in Server(stub.url).events("1")], [1, 2])
        self.assertEqual(self.ids_sent(stub), [None, "1", "1", "1", "2"])
        self.assertEqual(self.slept, [1, 9, 4, 1])

    def test_what_stays_wrong_is_told_at_once(self):
        stub = self.serve({PATH: [stream("id: 1\ndata: 1\n\n"), error(404, "there is no job 1")]})
        events = Server(stub.url).events("1")
        self.assertEqual(next(events).data, 1)
        self.assertEqual(self.error_of(next, events).status, 404)
        for answer in (error(401, "who are you?"), Answer(302, headers={"Location": "/"}), stream("data: 1\n\n", kind="text/html"),
                       stream("data: " + "x" * 2_000_000 + "\n\n"), stream(": " + "x" * 2_000_000 + "\n\n"),
                       stream("data: " + "x" * 500_000 + "\n" + "data: " + "x" * 600_000)):
            stub = self.serve({PATH: answer})
            self.error_of(list, Server(stub.url).events("1"))
            self.assertEqual(len(stub.requests), 1)

    def test_a_first_connection_that_fails_is_told_at_once(self):
        stub = self.serve({})
        stub.__exit__()
        stub.__exit__ = lambda *_: None
        self.assertIn("cannot reach", self.error_of(next, Server(stub.url).events("1")).message)
        self.assertEqual(self.slept, [])

    def test_it_ends_with_the_job(self):
        over = error(409, "the job is over", "its record has all events")
        stub = self.serve({PATH: [stream("id: 1\ndata: 1\n\n"), over]})
        self.assertEqual([event.data for event in Server(stub.url).events("1")], [1])
        stub = self.serve({PATH: over})
        failed = self.error_of(next, Server(stub.url).events("1"))
        self.assertEqual((failed.status, failed.hint), (409, "its record has all events"))
        stub = self.serve({PATH: stream("id: 1\nevent: end\ndata: {}\n\n")})
        self.assertEqual(list(Server(stub.url).events("1")), [Event("1", "end", {})])
        self.assertEqual(len(stub.requests), 1)

    def test_leaving_the_loop_closes_the_connection(self):
        stub = self.serve({PATH: stream("".join(f"id: {n}\ndata: {n}\n\n" for n in range(100)))})
        events = Server(stub.url).events("1")
        self.assertEqual([event.data for event in itertools.islice(events, 3)], [0, 1, 2])
        events.close()
        self.assertEqual(len(stub.requests), 1)


if __name__ == "__main__":
    unittest.main()
