"""Job records of Belay in Python: one in a directory, or those that belayd keeps.

Needs nothing but Python 3.11; a record in a directory also needs the program ``belay``::

    record = Record("demo")               # or Record(4711), the number of a job
    record.tables                         # what is in it
    steps = record.table("progress", columns=["step", "loss"], where="kind = 'train'")
    steps["loss"]                         # a list; steps.to_pandas() where pandas is installed
    record.query("SELECT node, max(memory_anonymous_bytes) AS bytes FROM host GROUP BY node")
    record.score(), record.findings()

    server = Server("https://belay.example.org")
    for job in server.jobs(user="ada", since="2026-03-01T00:00:00Z"):
        print(server.findings(job["key"]))

Every answer about a directory is that of the command (``belay record query --json`` and its kin), which this module runs: so
they are the same, also of a record that is still being written, and the limits of queries and of files that do not answer hold.
Missing is ``None``, never 0. What fails is a ``BelayError``.
"""

import collections
import contextlib
import datetime
import email.utils
import html
import http.client
import ipaddress
import json
import os
import re
import shutil
import ssl
import stat
import subprocess
import tarfile
import tempfile
import time
import urllib.parse
import warnings

__all__ = ["BelayError", "BelayWarning", "Event", "Findings", "Record", "Server", "Table", "schema"]

_sleep = time.sleep  # tests put another one here


class BelayError(Exception):
    """What failed.

    ``status`` is that of HTTP (404) or the exit status of the program (2: the question is wrong, 3: the system failed); ``None`` where
    no answer came. ``hint`` says what to do, or is ``None``.
    """

    def __init__(self, message, status=None, hint=None):
        super().__init__(message + (f"\nhint: {hint}" if hint else ""))
        self.message, self.status, self.hint = message, status, hint


class BelayWarning(UserWarning):
    """What the program says beside its answer."""


def _printable(text):
    """What another machine or program says, without what terminals act upon."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _from_json(text, whose):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BelayError(f"{whose} is not the JSON that was asked for") from None


# ---------------------------------------------------------------------------------------------------------------- answers

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_ROWS_SHOWN = 20


def _times_of(values):
    """A column that holds nothing but times as Belay writes them becomes one of datetimes; any other stays as it is."""
    if not all(value is None or (isinstance(value, str) and _TIME.fullmatch(value)) for value in values):
        return values
    try:
        return [value and datetime.datetime.fromisoformat(value) for value in values]
    except ValueError:  # the 31st of February
        return values


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _percent(share):
    return None if share is None else f"{100 * share:.1f} %"


class Table:
    """The answer of a query: ``table["loss"]`` is a list, ``for row in table`` gives a dict for each row, ``len(table)`` counts them.

    Columns with one name are told apart by _2, _3 and so on. Times are datetimes in UTC, unless ``times=False`` was asked for.
    """

    def __init__(self, columns, rows, times=True):
        self.columns = []
        for name in columns:
            number, unique = 1, name
            while unique in self.columns:
                number += 1
                unique = f"{name}_{number}"
            self.columns.append(unique)
        values = [list(column) for column in zip(*rows)] if rows else [[] for _ in columns]
        self._data = dict(zip(self.columns, map(_times_of, values) if times else values))
        self._count = len(rows)

    def __len__(self):
        return self._count

    def __bool__(self):
        return self._count > 0

    def __getitem__(self, name):
        return self._data[name]

    def __contains__(self, name):
        return name in self._data

    def __iter__(self):
        return (dict(zip(self.columns, values)) for values in zip(*self._data.values()))

    def to_dict(self):
        """The columns by name, each a list."""
        return {name: list(values) for name, values in self._data.items()}

    def to_pandas(self):
        """A DataFrame. Whole numbers and truth values with gaps stay what they are (Int64, boolean): missing is NA, never 0."""
        import pandas

        def typed(values):
            kinds = {type(value) for value in values}
            if kinds in ({int, type(None)}, {bool, type(None)}):
                return pandas.array(values, dtype="Int64" if int in kinds else "boolean")
            return pandas.Series(values, dtype=float) if kinds in ({float, type(None)}, {int, float, type(None)}) else values

        return pandas.DataFrame({name: typed(values) for name, values in self._data.items()}, columns=self.columns)

    def __repr__(self):
        return f"<Table of {self._count} rows: {', '.join(self.columns)}>"

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = []
        for values in zip(*self._data.values()):
            if len(rows) == _ROWS_SHOWN:
                break
            rows.append("<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in values) + "</tr>")
        rest = self._count - len(rows)
        return (f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
                + (f"<p>and {rest} more rows</p>" if rest else ""))


def _table(answer, whose, times):
    columns, rows = (answer.get("columns"), answer.get("rows")) if isinstance(answer, dict) else (None, None)
    if not (isinstance(columns, list) and all(isinstance(name, str) for name in columns) and isinstance(rows, list)
            and all(isinstance(row, list) and len(row) == len(columns) for row in rows)):
        raise BelayError(f"{whose} is not a table")
    return Table(columns, rows, times)


class Findings(list):
    """What went wrong, the likely cause first: a list of dicts with "id", "severity", "title", "advice" and what else
    ``belay findings --json`` says of each. ``evaluated`` and ``skipped`` are rules, ``problems`` what kept some from being evaluated."""

    def __init__(self, answer, whose):
        if not isinstance(answer, dict) or not isinstance(answer.get("findings"), list):
            raise BelayError(f"{whose} does not hold findings")
        super().__init__(answer["findings"])
        self.evaluated = answer.get("evaluated", [])
        self.skipped = answer.get("skipped", [])
        self.problems = answer.get("problems", [])

    def _repr_html_(self):
        if not self:
            return f"<p>Nothing was found by {len(self.evaluated)} rules; {len(self.skipped)} were skipped.</p>"
        text = ""
        for finding in self:
            severity, title, summary, advice = (html.escape(str(finding.get(key) or ""))
                                                for key in ("severity", "title", "summary", "advice"))
            text += f"<dt><b>{severity}</b>: {title}</dt><dd>{summary}<br><i>{advice}</i></dd>"
        return f"<dl>{text}</dl>"


# ----------------------------------------------------------------------------------------------------- a record in a directory


def _find_program(program):
    """The one that was named; that of PATH; that of the tree in which this module is installed (PREFIX/lib/python3/dist-packages)."""
    if program is not None:
        return os.fspath(program)
    found = shutil.which("belay")
    if found is None:
        found = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../bin/belay"))
        if not os.access(found, os.X_OK):
            raise BelayError("the program belay was not found", hint="put its directory into PATH, or pass program=")
    return found


def _messages(text):
    """(message, hint) of each thing that the program said: "belay: MESSAGE", lines that show a place, "hint: HINT"."""
    messages = []
    for line in text.splitlines():
        if line.startswith("belay: "):
            messages.append([line[len("belay: "):], None])
        elif messages and line.startswith("hint: "):
            messages[-1][1] = line[len("hint: "):]
        elif messages:
            messages[-1][0] += "\n" + line
        elif line:
            messages.append([line, None])
    return messages


class _Program:
    def __init__(self, program, timeout):
        self._program, self._timeout = program, timeout

    def ask(self, words, arguments=(), options=(), accepts=lambda status, text: status == 0):
        """What ``belay WORDS OPTIONS --json -- ARGUMENTS`` prints."""
        # Nothing after "--" is an option, whatever a directory or SQL begins with.
        command = [_find_program(self._program), *words, *options, "--json", *(["--", *arguments] if arguments else [])]
        name = " ".join(["belay", *words])
        try:
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=self._timeout, check=False)
        except subprocess.TimeoutExpired:
            raise BelayError(f"{name} took longer than {self._timeout} s and was stopped") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            raise BelayError(f"cannot run {command[0]}: {error}") from None
        text = ended.stdout.decode("utf-8", "replace")
        said = _messages(ended.stderr.decode("utf-8", "replace"))
        if not accepts(ended.returncode, text):
            if ended.returncode < 0:
                raise BelayError(f"{name} was ended by signal {-ended.returncode}", ended.returncode)
            message, hint = said.pop() if said else (f"{name} ended with exit status {ended.returncode}", None)
            raise BelayError(message, ended.returncode, hint)
        for message, hint in said:
            warnings.warn(message + (f"\nhint: {hint}" if hint else ""), BelayWarning, stacklevel=3)
        return _from_json(text, f"what {name} prints")


def schema(program=None):
    """The tables that records have: ``{"host": {"doc": ..., "columns": [{"name", "type", "unit", "doc"}, ...]}, ...}``."""
    return _Program(program, None).ask(["record", "schema"])["tables"]


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Record:
    """A job record: its directory, or the number of a job ("4711", "4711.0" for one of its steps), whose record is looked for as the
    command looks for it. It may still be written, and is read anew each time.

    ``program`` is the ``belay`` to run, if not that of PATH; ``timeout`` is in seconds, for one answer: without it, the limits of the
    program's settings hold (``query.time``, ``files.wait``).
    """

    def __init__(self, path_or_job, *, program=None, timeout=None):
        self.path = str(path_or_job) if isinstance(path_or_job, int) else os.fspath(path_or_job)
        self._program = _Program(program, timeout)

    @property
    def info(self):
        """What ``belay record info --json`` prints: "job", "sealed", "coverage", "lost", "tables" and more."""
        return self._program.ask(["record", "info"], [self.path])

    @property
    def tables(self):
        """Of each table its "rows", "start", "end" and "coverage"."""
        return self.info["tables"]

    def query(self, sql, *, times=True):
        """The ``Table`` that one SQL query gives (DuckDB's dialect). ``times=False`` leaves times the text that they are in JSON."""
        return _table(self._program.ask(["record", "query"], [self.path, sql]), "what belay record query prints", times)

    def table(self, name, columns=None, where=None, *, order_by="time", limit=None, times=True):
        """Columns of a table, all of them by default, of the rows for which ``where`` holds, an expression of SQL. Rows come in order of
        ``order_by``, a column, or as they lie in the record where that is ``None``."""
        chosen = "*" if columns is None else ", ".join(_quoted(column) for column in columns)
        # On lines of their own, so that a comment at the end of `where` ends there.
        sql = f"SELECT {chosen} FROM {_quoted(name)}"
        sql += f"\nWHERE (\n{where}\n)" if where is not None else ""
        sql += f"\nORDER BY {_quoted(order_by)}" if order_by is not None else ""
        sql += f"\nLIMIT {int(limit)}" if limit is not None else ""
        return self.query(sql, times=times)

    def score(self, by="gpu"):
        """What ``belay score --json`` prints: "score", its bounds "low" and "high", "shares", "bound" and more. ``by`` is gpu, node or
        step."""
        return self._program.ask(["score"], [self.path], ["--by", by])

    def findings(self, rules=None):
        """What went wrong, as ``Findings``. ``rules`` is a file or directory of rules, instead of the site's."""
        # 1: something was found; 2 and 3 come with an answer too, where some rules could be evaluated and others not.
        answer = self._program.ask(["findings"], [self.path], ["--rules", os.fspath(rules)] if rules is not None else [],
                                   accepts=lambda status, text: status in (0, 1) or (status in (2, 3) and text.startswith("{")))
        return Findings(answer, "what belay findings prints")

    def __repr__(self):
        return f"Record({self.path!r})"

    def _repr_html_(self):
        info = self.info
        job = info["job"]
        state = "sealed" if info["sealed"] else "being recorded" if info.get("being_written") else "not sealed"
        facts = {"record": self.path, "job": job.get("id") or "without Slurm", "name": job.get("name"), "user": job.get("user"),
                 "nodes": " ".join(job.get("nodes") or []), "start": job.get("start"), "end": job.get("end"), "state": state,
                 "coverage": _percent(info["coverage"])}
        lines = "".join(f"<tr><th>{key}</th><td>{html.escape(_cell(value))}</td></tr>" for key, value in facts.items())
        filled = Table(["table", "rows", "coverage"],
                       [[name, table["rows"], _percent(table["coverage"])] for name, table in info["tables"].items() if table["rows"]])
        return f"<table>{lines}</table>{filled._repr_html_()}"


# ------------------------------------------------------------------------------------------------------------------ belayd

_MOST_BYTES = 1 << 28  # of an answer that is held in memory
_MOST_EVENT_BYTES = 1 << 20
_LONGEST_ANSWER = 900  # seconds, for all of one that is held in memory
_ATTEMPTS = 4  # of a GET that is told to come later
_LONGEST_WAIT = 60  # seconds that such a GET waits in all, and that events wait at once
_EVENT_ATTEMPTS = 10  # connections in a row that bring nothing
_LEAST_WAIT = 0.1
_MOST_MEMBERS = 100_000  # files of a record
_MOST_DEPTH = 16
_PAGE = 200

Event = collections.namedtuple("Event", "id event data")
Event.__doc__ = """A server-sent event: its id, its type, and what it says: of JSON the value, else the text."""


def _token_file():
    home = os.environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(home if os.path.isabs(home) else os.path.expanduser("~/.config"), "belay", "token")


def _check_token(token, whose):
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise BelayError(f"{whose} is not a token: one is made of printable characters, without blanks")
    return token


def _find_token():
    token = os.environ.get("BELAY_TOKEN")
    if token:
        return _check_token(token.strip(), "BELAY_TOKEN")
    path = _token_file()
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise BelayError(f"{path} must be a file of yours that nobody else may use", hint=f"chmod 600 {path}")
            return _check_token(file.read(1 << 16).decode("ascii", "replace").strip(), path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BelayError(f"cannot read {path}: {error.strerror}") from None


def _is_loopback(address):
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def _seconds_until(retry_after):
    """Of a header Retry-After, which holds seconds or a date; None for any other text."""
    if retry_after is None:
        return None
    if re.fullmatch(r" *[0-9]{1,9} *", retry_after):
        return int(retry_after)
    try:
        then = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, then.timestamp() - time.time())


class _Answer:
    """Of the server: its head, and a body that is whole or an error."""

    def __init__(self, connection, response, host):
        self._connection, self._response, self._host = connection, response, host
        self.status, self.headers = response.status, response.headers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._response.close()
        self._connection.close()

    @contextlib.contextmanager
    def _broken_off(self):
        try:
            yield
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise BelayError(f"{self._host}: the answer broke off: {error or type(error).__name__}") from None

    def tells_its_end(self):
        return self._response.chunked or self._response.length is not None

    def read(self, size):
        with self._broken_off():
            data = self._response.read(size)
        if not data and size and self._response.length:
            raise BelayError(f"{self._host}: the answer broke off")
        return data

    def read_line(self):
        """With its end; b"" where the answer ends."""
        with self._broken_off():
            line = self._response.readline(_MOST_EVENT_BYTES + 1)
        if len(line) > _MOST_EVENT_BYTES:
            raise BelayError(f"{self._host}: a line of events is too long", self.status)
        return line

    def read_all(self, most=_MOST_BYTES):
        pieces, size, end = [], 0, time.monotonic() + _LONGEST_ANSWER
        while piece := self.read(1 << 16):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise BelayError(f"{self._host}: the answer is larger than {most} bytes", hint="ask for less, or download the record")
            if time.monotonic() > end:
                raise BelayError(f"{self._host}: the answer took longer than {_LONGEST_ANSWER} s")
        return b"".join(pieces)

    def error(self):
        """What a status other than success says. Whatever is in the body, the status is told."""
        message, hint = f"status {self.status} {_printable(self._response.reason or '')}".rstrip(), None
        if 300 <= self.status < 400:
            to = _printable(self.headers.get("Location", "elsewhere"))
            return BelayError(f"{self._host} sends us to {to}, which is not followed", self.status, "name the right address yourself")
        with contextlib.suppress(BelayError, AttributeError):
            told = _from_json(self.read_all(1 << 16), "").get("error")
            if isinstance(told.get("message"), str):
                message = _printable(told["message"])
            if isinstance(told.get("hint"), str):
                hint = _printable(told["hint"])
        if self.status == 401 and hint is None:
            hint = f"pass token=, set BELAY_TOKEN, or write the token into {_token_file()}"
        return BelayError(f"{self._host}: {message}", self.status, hint)


class Server:
    """belayd at a URL such as https://belay.example.org.

    The token is ``token``, or BELAY_TOKEN, or the content of ~/.config/belay/token, which nobody else may read; with ``token=""`` none
    is sent. It goes over TLS, or to this very machine. Certificates are always verified, by the system's authorities or those of
    ``ca_file``. ``timeout`` is the time in seconds for which the server may be silent. Proxies are not used, redirections not followed.
    A GET that is answered by 429 or 503 is sent again, four times and for a minute at most, when the server says so.
    """

    def __init__(self, url, token=None, *, timeout=30, ca_file=None):
        parts = urllib.parse.urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if (parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.username is not None
                or parts.query or parts.fragment):
            raise BelayError(f"{url!r} is not the address of a server", hint="it is written like https://belay.example.org")
        self.url, self._timeout = url.rstrip("/"), timeout
        self._host, self._port, self._path = parts.hostname, port, parts.path.rstrip("/")
        self._context = None
        if parts.scheme == "https":
            try:
                self._context = ssl.create_default_context(cafile=ca_file)
            except OSError as error:
                raise BelayError(f"cannot read the authorities of {ca_file}: {error}") from None
        self._token = _find_token() if token is None else _check_token(token, "token") if token else None
        if self._token and self._context is None and not (self._host == "localhost" or _is_loopback(self._host)):
            raise BelayError(f"a token is not sent to {self._host} without TLS", hint="use https://, or token=\"\" to go without")

    def __repr__(self):
        return f"Server({self.url!r})"

    # -- requests

    def _connect(self, timeout):
        try:
            if self._context is None:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
            else:
                connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            raise BelayError(f"cannot reach {self._host}: {error.verify_message}",
                             hint="name the site's authorities: Server(url, ca_file=...)") from None
        except (OSError, UnicodeError) as error:  # UnicodeError: a name that no host can have
            raise BelayError(f"cannot reach {self._host}: {error or type(error).__name__}") from None
        # What "localhost" means is for the name service to say.
        if self._token and self._context is None and not _is_loopback(connection.sock.getpeername()[0]):
            connection.close()
            raise BelayError(f"a token is not sent to {self._host} without TLS: it is another machine")
        return connection

    def _send(self, method, path, body=None, accept="application/json", timeout=None, headers=None):
        connection = self._connect(timeout or self._timeout)
        all_headers = {"Accept": accept, "User-Agent": "belay_record", "Connection": "close", **(headers or {})}
        if body is not None:
            all_headers["Content-Type"] = "application/json"
        if self._token:
            all_headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request(method, f"{self._path}/api/v1/{path}", body, all_headers)
            return _Answer(connection, connection.getresponse(), self._host)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise BelayError(f"{self._host} does not answer: {error or type(error).__name__}") from None

    def _ask(self, method, path, **options):
        """An answer with a status of success, to be closed."""
        waited = 0.0
        for attempt in range(1, _ATTEMPTS + 1):
            answer = self._send(method, path, **options)
            if 200 <= answer.status < 300:
                return answer
            with answer:
                wait = _seconds_until(answer.headers.get("Retry-After"))
                wait = 2.0 ** (attempt - 1) if wait is None else wait
                again = method == "GET" and answer.status in (429, 503) and attempt < _ATTEMPTS and waited + wait <= _LONGEST_WAIT
                if not again:
                    raise answer.error()
            _sleep(wait)
            waited += wait

    def _json(self, method, path, **options):
        with self._ask(method, path, **options) as answer:
            return _from_json(answer.read_all(), f"the answer of {self._host}")

    @staticmethod
    def _name(key):
        """A job or an account as a segment of a path."""
        text = str(key)
        if text in ("", ".", "..") or "/" in text:
            raise BelayError(f"{text!r} is not the name of a job or an account")
        return urllib.parse.quote(text, safe="")

    # -- what belayd knows

    def me(self):
        """Who the token says that you are."""
        return self._json("GET", "me")

    def jobs(self, *, user=None, account=None, node=None, state=None, name=None, since=None, until=None, limit=None):
        """The jobs that you may see, the newest first, as a list of dicts: at most ``limit``. ``name`` is a part of theirs; ``since`` and
        ``until`` are datetimes with a time zone, or text as "2026-03-01T00:00:00Z"."""
        query = {"user": user, "account": account, "node": node, "state": state, "name": name, "since": since, "until": until}
        for key, value in query.items():
            if isinstance(value, datetime.datetime):
                if value.tzinfo is None:
                    raise BelayError(f"{key}={value} does not say in which time zone", hint="datetime.datetime.now(datetime.UTC)")
                query[key] = value.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        query = {key: value for key, value in query.items() if value is not None}
        jobs, seen = [], set()
        while limit is None or len(jobs) < limit:
            query["limit"] = _PAGE if limit is None else min(_PAGE, limit - len(jobs))
            page = self._json("GET", "jobs?" + urllib.parse.urlencode(query))
            if not isinstance(page, dict) or not isinstance(page.get("jobs"), list):
                raise BelayError(f"the answer of {self._host} is not a list of jobs")
            jobs += page["jobs"]
            cursor = page.get("next")
            if cursor is None:
                break
            if cursor in seen:
                raise BelayError(f"{self._host} gives the same page of jobs again")
            seen.add(cursor)
            query["cursor"] = cursor
        return jobs if limit is None else jobs[:limit]

    def job(self, key):
        """All that is known of one job."""
        return self._json("GET", f"jobs/{self._name(key)}")

    def query(self, key, sql, *, times=True):
        """The ``Table`` that one SQL query over the record of a job gives, as ``Record.query``. It is never sent twice."""
        answer = self._json("POST", f"jobs/{self._name(key)}/query", body=json.dumps({"sql": sql}).encode(),
                            timeout=max(180, self._timeout))
        return _table(answer, f"the answer of {self._host}", times)

    def score(self, key):
        """As ``Record.score``."""
        return self._json("GET", f"jobs/{self._name(key)}/score")

    def findings(self, key):
        """As ``Record.findings``."""
        return Findings(self._json("GET", f"jobs/{self._name(key)}/findings"), f"the answer of {self._host}")

    def summary(self, key):
        """What the report says in words and in numbers."""
        return self._json("GET", f"jobs/{self._name(key)}/summary")

    def report(self, key):
        """The report, a page of HTML as text."""
        with self._ask("GET", f"jobs/{self._name(key)}/report", accept="text/html", timeout=max(180, self._timeout)) as answer:
            return answer.read_all().decode("utf-8", "replace")

    def digest(self, account):
        """What the jobs of an account used in all."""
        return self._json("GET", f"projects/{self._name(account)}/digest")

    def download(self, key, directory):
        """Puts the record of a job into ``directory``, which must be new or empty, and returns it as a ``Record``. What breaks off, or
        holds anything but files and directories beneath the record, leaves nothing there."""
        directory = os.path.abspath(os.fspath(directory))
        if os.path.lexists(directory) and (os.path.islink(directory) or not os.path.isdir(directory) or os.listdir(directory)):
            raise BelayError(f"{directory} is there already")
        with self._ask("GET", f"jobs/{self._name(key)}/record", accept="application/x-tar", timeout=max(180, self._timeout)) as answer:
            if not answer.tells_its_end():
                raise BelayError(f"{self._host}: the answer does not say where it ends")
            try:
                place = tempfile.mkdtemp(prefix=f".{os.path.basename(directory)}.", dir=os.path.dirname(directory))
                try:
                    os.rename(_unpack(answer, place), directory)
                finally:
                    shutil.rmtree(place, ignore_errors=True)
            except OSError as error:
                raise BelayError(f"cannot write {directory}: {error}") from None
        return Record(directory)

    def events(self, key, last_id=None, *, silence=90):
        """What happens to a running job, as it happens: a generator of ``Event``. The last one is "end", when the job is over; of one
        that was over before, an error with status 409 says so. It connects again where the connection ends or is silent for ``silence``
        seconds, after the last event that was seen; ``last_id`` is that of one seen before. Ten connections in a row
        that bring nothing are an error."""
        path = f"jobs/{self._name(key)}/events"
        retry, failures, connected = 1.0, 0, False
        while True:
            wait = None
            try:
                headers = {"Cache-Control": "no-store", **({"Last-Event-ID": last_id.encode()} if last_id else {})}
                answer = self._send("GET", path, accept="text/event-stream", timeout=silence, headers=headers)
                with answer:
                    if answer.status == 204 or (answer.status == 409 and connected):  # 409: the job is over
                        return
                    if answer.status not in (200, 429, 502, 503, 504):
                        raise answer.error()
                    if answer.status != 200:  # a server that starts, or is too busy
                        failure, wait = answer.error(), _seconds_until(answer.headers.get("Retry-After"))
                    elif answer.headers.get_content_type() != "text/event-stream":
                        raise BelayError(f"{self._host}: the answer is not a stream of events", answer.status)
                    else:
                        connected = True
                        stream = _EventStream(last_id)
                        while line := answer.read_line():
                            failures = 0
                            event = stream.take(line)
                            last_id, retry = stream.last_id, stream.retry or retry
                            if event is not None:
                                yield event
                                if event.event == "end":
                                    return
                        failure = BelayError(f"{self._host}: the stream of events ended")
            except BelayError as error:
                # What was answered stays so when it is asked again; a first connection that fails is told at once.
                if error.status is not None or not connected:
                    raise
                failure = error
            failures += 1
            if failures >= _EVENT_ATTEMPTS:
                raise failure
            _sleep(min(max(wait or retry * 2 ** (failures - 1), _LEAST_WAIT), _LONGEST_WAIT))


class _EventStream:
    """Lines of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html, "Interpreting an event stream")."""

    def __init__(self, last_id):
        self.last_id, self.retry = last_id, None
        self._type, self._data, self._bytes, self._first = "", [], 0, True

    def take(self, line):
        """The event that a line completes, else None."""
        text = line.decode("utf-8", "replace").rstrip("\n").rstrip("\r")
        if self._first:
            self._first, text = False, text.removeprefix("\ufeff")
        if text == "":
            return self._complete()
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._bytes += len(line)
            if self._bytes > _MOST_EVENT_BYTES:
                raise BelayError("an event is too long", 200)
            self._data.append(value)
        elif field == "event":
            self._type = value
        elif field == "id" and "\0" not in value:
            self.last_id = value
        elif field == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value) / 1000
        return None

    def _complete(self):
        text, kind, any_data = "\n".join(self._data), self._type, bool(self._data)
        self._type, self._data, self._bytes = "", [], 0
        if not any_data:
            return None
        try:
            return Event(self.last_id, kind or "message", json.loads(text))
        except (ValueError, RecursionError):
            return Event(self.last_id, kind or "message", text)


# ---------------------------------------------------------------------------------------------------- the archive of a record


class _Tail:
    """Reads on from an answer, and knows what the last 1024 bytes were: an archive ends with two empty blocks."""

    def __init__(self, answer):
        self._answer, self._last = answer, b""

    def read(self, size):
        data = self._answer.read(size)
        self._last = (self._last + data)[-1024:]
        return data

    def is_whole(self):
        while self.read(1 << 16):
            pass
        return len(self._last) == 1024 and not self._last.strip(b"\0")


def _member_path(member):
    """Where beneath the record a member of the archive belongs; "" for the record itself."""
    name = member.name
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name or len(parts) > _MOST_DEPTH:
        raise BelayError(f"the archive holds {_printable(name)!r}, which lies outside of the record")
    if not (member.isdir() or (member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse())) or member.size < 0:
        raise BelayError(f"the archive holds {_printable(name)!r}, which is neither a file nor a directory")
    return os.path.join(*parts) if parts else ""


def _unpack(answer, place):
    """Writes the files of an archive beneath a directory of ours; returns where the record lies in it: there, or in the one directory
    that it has. Links are never made, so that no path leads elsewhere."""
    tail, count = _Tail(answer), 0
    try:
        with tarfile.open(fileobj=tail, mode="r|") as tar:
            for member in tar:
                count += 1
                if count > _MOST_MEMBERS:
                    raise BelayError(f"the archive holds more than {_MOST_MEMBERS} files")
                path = os.path.join(place, _member_path(member))
                if member.isdir():
                    os.makedirs(path, 0o700, exist_ok=True)
                    continue
                os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb") as file:
                    shutil.copyfileobj(tar.extractfile(member), file, 1 << 20)  # an error where it breaks off
    except (tarfile.TarError, EOFError, UnicodeError, ValueError) as error:
        raise BelayError(f"what was sent is not an archive: {error}") from None
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise BelayError(f"the archive holds {_printable(os.path.relpath(error.filename, place))!r} twice") from None
    if not tail.is_whole():
        raise BelayError("the archive broke off")
    entries = os.listdir(place)
    root = os.path.join(place, entries[0]) if len(entries) == 1 else place
    if not os.path.isfile(os.path.join(root, "record.json")):
        raise BelayError("what was sent is not a record: record.json is missing")
    return root
