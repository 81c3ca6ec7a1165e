"""Server.download: a record comes whole and beneath its directory, or nothing is there."""

import io
import os
import tarfile
import unittest
import unittest.mock

import belay_record
from belay_record import Server
from stub_server import Answer, error
from test_server import ServerTest

PATH = "jobs/1/record"


def member(name, content=b"", **facts):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in facts.items():
        setattr(info, key, value)
    return info, content


def archive(*members, form=tarfile.PAX_FORMAT):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


RECORD = [member("record.json", b'{"schema": 1}'), member("tables", type=tarfile.DIRTYPE),
          member("tables/host.parquet", bytes(range(256)) * 100, mode=0o777)]


class TestDownload(ServerTest):
    def download(self, body, name="job", **options):
        stub = self.serve({PATH: body if isinstance(body, Answer) else Answer(body=body, headers={"Content-Type": "application/x-tar"})})
        return Server(stub.url).download("1", os.path.join(self.directory, name), **options)

    def assert_nothing_is_left(self):
        self.assertEqual(os.listdir(self.directory), [])

    def read(self, *names):
        with open(os.path.join(self.directory, *names), "rb") as file:
            return file.read()

    def test_a_record_is_there_for_its_owner_only(self):
        for number, form in enumerate((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)):
            record = self.download(archive(*RECORD, form=form), f"job{number}")
            self.assertEqual(record.path, os.path.join(self.directory, f"job{number}"))
            self.assertEqual(self.read(f"job{number}", "tables", "host.parquet"), bytes(range(256)) * 100)
            for path, mode in (("", 0o700), ("tables", 0o700), ("tables/host.parquet", 0o600)):
                self.assertEqual(os.stat(os.path.join(record.path, path)).st_mode & 0o7777, mode)
        self.assertEqual(len(os.listdir(self.directory)), 3)

    def test_a_directory_around_it_is_left_out(self):
        self.download(archive(member("./", type=tarfile.DIRTYPE),
                              *(member("./record-4711/" + info.name, content, type=info.type) for info, content in RECORD)))
        self.assertEqual(self.read("job", "record.json"), b'{"schema": 1}')

    def test_directories_that_are_not_named_are_made(self):
        self.download(archive(member("segments/a/b.seg", b"x"), member("record.json", b"{}")))
        self.assertEqual(self.read("job", "segments", "a", "b.seg"), b"x")

    def test_an_empty_directory_may_be_there_and_nothing_else(self):
        os.mkdir(os.path.join(self.directory, "job"))
        self.download(archive(*RECORD))
        before = self.read("job", "record.json")
        self.assertIn("there already", self.error_of(self.download, archive(member("record.json", b"other"))).message)
        self.assertEqual(self.read("job", "record.json"), before)
        os.symlink(self.directory + "/nowhere", os.path.join(self.directory, "link"))
        self.assertIn("there already", self.error_of(self.download, archive(*RECORD), "link").message)
        os.mkdir(os.path.join(self.directory, "empty"))
        os.symlink("empty", os.path.join(self.directory, "to-empty"))
        self.assertIn("there already", self.error_of(self.download, archive(*RECORD), "to-empty").message)
        self.assertIn("cannot write", self.error_of(self.download, archive(*RECORD), "none/job").message)

    def test_what_lies_outside(self):
        for name in ("/etc/passwd", "../evil", "tables/../../evil", "a/..", "/".join("x" * 20)):
            failed = self.error_of(self.download, archive(*RECORD, member(name, b"evil")))
            self.assertIn("lies outside of the record", failed.message, name)
            self.assert_nothing_is_left()

    def test_what_is_neither_a_file_nor_a_directory(self):
        for facts in ({"type": tarfile.SYMTYPE, "linkname": "/etc"}, {"type": tarfile.LNKTYPE, "linkname": "record.json"},
                      {"type": tarfile.FIFOTYPE}, {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}, {"type": tarfile.BLKTYPE},
                      {"type": tarfile.CONTTYPE}, {"pax_headers": {"GNU.sparse.map": "0,1", "GNU.sparse.size": "99999999999"}}):
            members = [*RECORD, member("tables/x\x1b", b"", **facts), member("tables/x\x1b/passwd", b"evil")]
            failed = self.error_of(self.download, archive(*members))
            self.assertIn("neither a file nor a directory", failed.message, facts)
            self.assertIn("x\ufffd", failed.message)
            self.assert_nothing_is_left()

    def test_what_is_there_twice(self):
        for more in (member("record.json", b"other"), member("record.json/x", b"other"), member("record.json", type=tarfile.DIRTYPE),
                     member("tables", b"other")):
            self.assertIn("twice", self.error_of(self.download, archive(*RECORD, more)).message, more)
            self.assert_nothing_is_left()

    def test_an_archive_that_breaks_off_anywhere(self):
        whole = archive(*RECORD)
        for size in (0, 1, 511, 512, 700, 1024, 2048, 3000, 20_000, whole.index(b"\xff" * 1 + b"\0" * 1024) + 1, len(whole) - 10_240):
            self.error_of(self.download, whole[:size])
            self.assert_nothing_is_left()

        def write(file):
            file.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(whole) + whole[:-1])
        self.assertIn("broke off", self.error_of(self.download, Answer(write=write)).message)
        self.assert_nothing_is_left()

    def test_an_answer_that_does_not_say_where_it_ends(self):
        answer = Answer(write=lambda file: file.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + archive(*RECORD)))
        self.assertIn("does not say where it ends", self.error_of(self.download, answer).message)
        self.assert_nothing_is_left()

    def test_what_is_not_a_record(self):
        for body in (b"<html>", b"\x1f\x8b\x08" + b"\0" * 2000, b"x" * 10_240, archive(member("tables/host.parquet", b"x")),
                     archive(member("record.json", type=tarfile.DIRTYPE))):
            self.error_of(self.download, body)
            self.assert_nothing_is_left()
        self.assertEqual(self.error_of(self.download, error(404, "there is no job 1")).status, 404)
        self.assert_nothing_is_left()

    def test_too_many_files(self):
        with unittest.mock.patch.object(belay_record, "_MOST_MEMBERS", 2):
            self.assertIn("more than 2 files", self.error_of(self.download, archive(*RECORD)).message)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
