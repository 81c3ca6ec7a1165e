"""Random access to packed training data: the tar shards that ``belay stage pack`` makes.

Needs nothing but Python 3.8. A shard is a plain tar (webdataset and ``tar`` read it); its index beside it says where each file
lies, so that a sample is read without reading what stands before it::

    data = Dataset("/scratch/train")
    len(data)                    # samples
    sample = data[17]            # {"__key__": "class3/000017", "jpg": b"...", "cls": b"4"}
    data.read("class3/000017.jpg")

``Dataset`` is what PyTorch calls a map-style dataset, and its samples have the keys that webdataset gives them, with two differences:
capital letters of suffixes stay (webdataset changes them to small ones, unless it is called with ``lcase=False``), and a file
without a suffix, which webdataset leaves out, is a sample of its own with the key ``""``. It may be used from
the workers of a loader: each process maps the files by itself. An index is checked when it is opened; what a sample holds is not,
unless ``read`` is asked to: ``belay stage verify`` does it for all.
"""

import collections
import functools
import hashlib
import json
import mmap
import os
import stat
import struct

__all__ = ["Dataset", "Shard", "ShardError"]

_HEADER = struct.Struct("<8sIIQQ")
_ENTRY = struct.Struct("<QQIHHII")
_LENGTH = struct.Struct("<Q")
_TRAILER = struct.Struct("<II8s")
_MAGIC = b"BLYTIDX1"
_END_MAGIC = b"BLYTIDXE"
_MOST_OPEN = 128  # shards of a process: each holds two descriptors, and many systems allow 1024


class ShardError(Exception):
    """What is read is not a shard, or it is damaged."""


def _crc32c_table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_TABLE = _crc32c_table()
_TABLE_BYTES = [bytes(entry >> shift & 0xFF for entry in _TABLE) for shift in (0, 8, 16, 24)]
_LANES = 256


def _after(state, data):
    for byte in data:
        state = _TABLE[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


def _times(matrix, state):
    result = 0
    for column in matrix:
        if state & 1:
            result ^= column
        state >>= 1
    return result


@functools.lru_cache(maxsize=64)
def _zeros(length):
    """What `length` bytes of zero make of each of the 32 bits of a state: CRCs are linear."""
    power = [_after(1 << bit, b"\0") for bit in range(32)]
    result = [1 << bit for bit in range(32)]
    while length:
        if length & 1:
            result = [_times(power, column) for column in result]
        power = [_times(power, column) for column in power]
        length >>= 1
    return result


def crc32c(data, before=0):
    """CRC32C of bytes (RFC 3720, appendix B.4), at about 10 MB a second.

    Parts of equal length are taken at the same time, one byte of each in a step: of their states there are four strings, which
    hold the first byte of all, the second, and so on.
    """
    state = before ^ 0xFFFFFFFF
    length = len(data) // _LANES
    end = length * _LANES if length >= 16 else 0
    if end:
        states = [0, 0, 0, 0]
        for step in range(length):
            column = states[0] ^ int.from_bytes(data[step:end:length], "little")
            column = column.to_bytes(_LANES, "little")
            looked_up = [int.from_bytes(column.translate(table), "little") for table in _TABLE_BYTES]
            states = [states[1] ^ looked_up[0], states[2] ^ looked_up[1], states[3] ^ looked_up[2], looked_up[3]]
        shift = _zeros(length)
        for part in zip(*(value.to_bytes(_LANES, "little") for value in states)):
            state = _times(shift, state) ^ int.from_bytes(part, "little")
    return _after(state, data[end:]) ^ 0xFFFFFFFF


def _map(path):
    # Follows no link, and waits for no pipe: packed data may be another user's.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ShardError(f"{path}: is not a regular file")
        if status.st_size == 0:
            raise ShardError(f"{path}: it is empty")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Shard:
    """A tar and its index. Records are known by their names, as bytes or as text.

    ``index_sha256`` is what the manifest says of the index: that of another shard, with a tar as large, is refused by it alone.
    """

    def __init__(self, path, index_sha256=None):
        self.path = os.fspath(path)
        self._tar = _map(self.path)
        index_path = os.path.splitext(self.path)[0] + ".idx"
        self._index = _map(index_path)
        self._samples = None
        try:
            self._open_index()
            if index_sha256 is not None and hashlib.sha256(self._index).hexdigest() != index_sha256:
                raise ShardError("it is not the one that the manifest names: repair it")
        except (struct.error, OverflowError, ShardError) as error:
            raise ShardError(f"{index_path}: {error}") from None

    def _open_index(self):
        magic, version, _, self._count, tar_bytes = _HEADER.unpack_from(self._index, 0)
        if magic != _MAGIC or version != 1:
            raise ShardError("it is not an index of version 1")
        if tar_bytes != len(self._tar):
            raise ShardError(f"it is of a tar with {tar_bytes} bytes, this one has {len(self._tar)}: pack or repair it")
        self._names = _HEADER.size + self._count * _ENTRY.size + _LENGTH.size
        (names_bytes,) = _LENGTH.unpack_from(self._index, self._names - _LENGTH.size)
        checksum, _, end = _TRAILER.unpack_from(self._index, self._names + names_bytes)
        checked = self._names + names_bytes
        if end != _END_MAGIC or checked + _TRAILER.size != len(self._index):
            raise ShardError("its end is missing")
        if crc32c(self._index[:checked]) != checksum:
            raise ShardError("it is damaged: pack or repair it")

    def __len__(self):
        return self._count

    def _entry(self, number):
        offset, size, name_offset, name_bytes, _, checksum, sample = _ENTRY.unpack_from(self._index, _HEADER.size + number * _ENTRY.size)
        begin = self._names + name_offset
        if offset + size > len(self._tar):
            raise ShardError(f"{self.path}: a record lies outside of it")
        return self._index[begin : begin + name_bytes], offset, size, checksum, sample

    def find(self, name):
        """(offset, size, checksum, sample) of a record; None where there is none."""
        wanted = os.fsencode(name)
        begin, end = 0, self._count
        while begin < end:
            middle = (begin + end) // 2
            if self._entry(middle)[0] < wanted:
                begin = middle + 1
            else:
                end = middle
        if begin == self._count:
            return None
        entry = self._entry(begin)
        return entry[1:] if entry[0] == wanted else None

    def read(self, name, verify=False):
        """The content of a record. ``verify`` checks it, at about 10 MB a second."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        offset, size, checksum, _ = found
        content = self._tar[offset : offset + size]
        if verify and crc32c(content) != checksum:
            raise ShardError(f"{self.path}: {os.fsdecode(name)} is damaged")
        return content

    def samples(self):
        """For each sample, in the order of the tar, the numbers of its records."""
        if self._samples is None:
            groups = {}
            for number in range(self._count):
                groups.setdefault(self._entry(number)[4], []).append(number)
            self._samples = [groups[sample] for sample in sorted(groups)]
        return self._samples

    def __iter__(self):
        return (os.fsdecode(self._entry(number)[0]) for number in range(self._count))


def _split(name):
    """"a/b.seg.png" is sample "a/b", key "seg.png"; of a name without a dot, or that begins with one, the key is empty."""
    begin = name.rfind("/") + 1
    dot = name.find(".", begin)
    return (name, "") if dot <= begin else (name[:dot], name[dot + 1 :])


class Dataset:
    """All samples of a packed data set, by number."""

    def __init__(self, directory):
        self.directory = os.fspath(directory)
        with open(os.path.join(self.directory, "manifest.json"), encoding="utf-8") as file:
            self.manifest = json.load(file)
        if self.manifest.get("schema") != "belay.stage/1" or self.manifest.get("format") != "tar":
            raise ShardError(f"{self.directory}: is not packed as tar shards")
        self._starts = []  # the number of each shard's first sample
        count = 0
        for shard in self.manifest["shards"]:
            if os.path.isabs(shard["path"]) or ".." in shard["path"].split("/"):
                raise ShardError(f"{self.directory}: the shard {shard['path']} lies outside of the directory")
            self._starts.append(count)
            count += shard["samples"]
        self._count = count
        self._open = collections.OrderedDict()  # shards by number, the one that was used last at the end
        self._pid = None

    def __len__(self):
        return self._count

    def _shard(self, number):
        if self._pid != os.getpid():  # a worker that was forked maps the files anew
            self._open, self._pid = collections.OrderedDict(), os.getpid()
        shard = self._open.get(number)
        if shard is None:
            stated = self.manifest["shards"][number]
            shard = self._open[number] = Shard(os.path.join(self.directory, stated["path"]), stated["index_sha256"])
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
        else:
            try:
                self._open.move_to_end(number)
            except KeyError:  # another thread closed it meanwhile
                pass
        return shard

    def _records(self, number):
        """A shard, and the numbers of a sample's records in it."""
        if number < 0:
            number += self._count
        if not 0 <= number < self._count:
            raise IndexError(number)
        begin, end = 0, len(self._starts)
        while end - begin > 1:
            middle = (begin + end) // 2
            if self._starts[middle] <= number:
                begin = middle
            else:
                end = middle
        shard = self._shard(begin)
        return shard, shard.samples()[number - self._starts[begin]]

    def prefetch(self, number):
        """Has the system begin to read a sample that is wanted soon, and does not wait for it."""
        shard, records = self._records(number)
        for record in records:
            _, offset, size, _, _ = shard._entry(record)
            begin = offset - offset % mmap.PAGESIZE
            if size > 0:
                shard._tar.madvise(mmap.MADV_WILLNEED, begin, offset + size - begin)

    def __getitems__(self, numbers):
        """Of a batch, as PyTorch asks for it from 2.0 on: a file system answers many reads at once."""
        for number in numbers:
            self.prefetch(number)
        return [self[number] for number in numbers]

    def __getitem__(self, number):
        sample = {}
        shard, records = self._records(number)
        for record in records:
            name, offset, size, _, _ = shard._entry(record)
            sample["__key__"], key = _split(os.fsdecode(name))
            sample[key] = shard._tar[offset : offset + size]
        return sample

    def read(self, name, verify=False):
        """The content of a file by its name in the source. ``verify`` checks it, at about 10 MB a second."""
        looked_at = list(self._open) if self._pid == os.getpid() else []  # these need not be opened
        for number in [*looked_at, *(number for number in range(len(self._starts)) if number not in looked_at)]:
            shard = self._shard(number)
            if shard.find(name) is not None:
                return shard.read(name, verify)
        raise KeyError(name)

    def __getstate__(self):  # to workers that are spawned
        state = dict(self.__dict__)
        state["_open"], state["_pid"] = collections.OrderedDict(), None
        return state
