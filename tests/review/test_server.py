"""The server of the review page refuses whoever has no business there, and saves what people do."""

import http.client
import json
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

import sqrl as library
from made_review import serving, ward_rules
from sqrl._review.browser import opening_browser
from sqrl._review.server import LARGEST_STEP


@pytest.fixture(scope="module")
def rules():
    return ward_rules()


@pytest.fixture
def path(rules, tmp_path):
    rules.save(tmp_path / "rules.json")
    return tmp_path / "rules.json"


@pytest.fixture
def server(path):
    with serving(path) as running:
        yield running


def call(server, method="GET", path=None, body=None, **headers):
    """The status, the headers and the content that a request is answered with."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    wanted = {name.replace("_", "-"): value for name, value in headers.items()}
    route = f"/{server.token}/" if path is None else path
    try:
        connection.request(method, route, body, wanted)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def step(server, content, **changed):
    """The answer to a step, as the page would send it unless something is changed."""
    headers = {
        "Origin": f"http://127.0.0.1:{server.server_port}",
        "Content_Type": "application/json",
    }
    headers = {name: value for name, value in (headers | changed).items() if value is not None}
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    status, _, said = call(server, "POST", f"/{server.token}/step", body, **headers)
    return status, json.loads(said)


# Who is answered


def test_with_the_token_the_page_comes_with_a_strict_policy(server):
    """Nothing is loaded from elsewhere, framed, cached or named to others."""
    status, headers, page = call(server)
    policy = headers["Content-Security-Policy"]

    assert status == 200
    assert b"sqrl review" in page
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers
    assert len(server.token) >= 40


@pytest.mark.parametrize(
    "route",
    ["/", "/wrong/", "/{token}", "/{token}x/", "/wrong/rule?id=a", "/{short}/"],
)
def test_without_the_token_nothing_is_there(server, route):
    """Whoever guesses the port learns nothing of what runs on it."""
    path = route.format(token=server.token, short=server.token[:-1])
    status, headers, said = call(server, path=path)

    assert (status, json.loads(said)) == (404, {"error": "not found"})
    assert "Server" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}"]
)
def test_another_host_is_refused_even_with_the_token(server, host):
    """A name whose DNS was pointed at this machine is not this machine."""
    status, _, said = call(server, Host=host.format(port=server.server_port))

    assert status == 403
    assert json.loads(said) == {"error": "this server answers to its own address alone"}


def test_two_hosts_are_refused(server):
    """Whatever a proxy would make of them."""
    head = f"GET /{server.token}/ HTTP/1.0\r\nHost: {server.hosts[0]}\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.sendall(head.encode())

        assert b" 403 " in line.recv(4096).splitlines()[0]


def test_this_machine_by_its_other_name_is_answered(server):
    """Localhost is loopback, too."""
    assert call(server, Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize(
    ("changed", "status", "why"),
    [
        ({"Origin": "https://evil.example"}, 403, "a step is taken on the page itself"),
        ({"Origin": "null"}, 403, "a step is taken on the page itself"),
        ({"Origin": None}, 403, "a step is taken on the page itself"),
        ({"Origin": "http://127.0.0.1:1"}, 403, "a step is taken on the page itself"),
        ({"Sec_Fetch_Site": "cross-site"}, 403, "a page of another site asked for this"),
        ({"Content_Type": "text/plain"}, 415, "a step is JSON"),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415, "a step is JSON"),
        ({"Content_Type": None}, 415, "a step is JSON"),
    ],
)
def test_a_step_that_another_page_sends_is_refused(server, path, rules, changed, status, why):
    """With the token and all: the file stays as it is."""
    before = path.read_bytes()
    asked = {"do": "reject", "ids": [rules.ids()[0]], "why": "w"}

    assert step(server, asked, **changed) == (status, {"error": why})
    assert path.read_bytes() == before


@pytest.mark.parametrize(("goes", "status"), [("document", 200), ("iframe", 403), ("empty", 403)])
def test_a_link_elsewhere_may_lead_to_the_page_and_to_nothing_else(server, goes, status):
    """Such as in a terminal that is itself a page: whoever has the link has the token."""
    elsewhere = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": goes}
    rule = f"/{server.token}/rule?id=a"

    assert call(server, **elsewhere)[0] == status
    assert call(server, path=rule, **elsewhere)[0] == 403


@pytest.mark.parametrize(
    "route",
    ["../rules.json", "%2e%2e/rules.json", "..%2frules.json", "./step", "rule/../step", "page.css"],
)
def test_no_path_leads_to_a_file(server, route):
    """There are three routes, and nothing else."""
    assert call(server, path=f"/{server.token}/{route}")[0] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_refused(server, method):
    """The page gets, and posts steps."""
    assert call(server, method)[0] == 405


@pytest.mark.parametrize("line", ["BREW / HTTP/1.1", "GET /", "GET / HTTP/9", "no request at all"])
def test_what_is_no_request_is_refused_under_the_same_policy(server, line):
    """Also where Python's own server answers: it says nothing of itself, and sends no markup."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as socket_:
        socket_.sendall(f"{line}\r\n\r\n".encode())
        with socket_.makefile("rb") as answer:
            said = answer.read()

    assert b'{"error":"' in said
    assert b"<" not in said
    assert b"Server:" not in said
    assert (b"default-src 'none'" in said) == line.endswith("/1.1")  # older ones know no headers


def test_a_route_has_its_own_method(server):
    """A step is not taken by a link."""
    assert call(server, path=f"/{server.token}/step")[0] == 405
    assert call(server, "POST", f"/{server.token}/rule", b"{}")[0] == 405


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"Content-Length: {LARGEST_STEP + 1}", 413),
        ("Content-Length: 99999999999999999999", 413),
        ("Content-Length: -1", 411),
        ("Content-Length: \u00b2", 411),
        ("Transfer-Encoding: chunked", 411),
        ("X: y", 411),
    ],
)
def test_a_body_that_is_too_large_is_refused_before_it_is_read(server, head, status):
    """Nobody fills the memory."""
    lines = [
        f"POST /{server.token}/step HTTP/1.1",
        f"Host: {server.hosts[0]}",
        f"Origin: http://{server.hosts[0]}",
        "Content-Type: application/json",
        head,
    ]
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

        assert f" {status} ".encode() in line.recv(4096).splitlines()[0]


def test_the_server_listens_on_loopback_alone(server):
    """Other machines cannot even connect."""
    assert server.server_address[0] == "127.0.0.1"


# Steps


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "this is no step: Input data was truncated"),
        ({"do": "run", "ids": []}, "this is no step: Invalid enum value 'run' - at `$.do`"),
        ({"do": "undo", "path": "x"}, "this is no step: Object contains unknown field `path`"),
    ],
)
def test_what_is_no_step_is_refused(server, content, said):
    """With what is wrong about it."""
    assert step(server, content) == (400, {"error": said})


def test_a_step_that_makes_no_sense_is_answered_with_the_fix(server, rules):
    """As on the command line."""
    one = rules.ids()[0]

    assert step(server, {"do": "accept", "ids": ["nope"], "why": "w"})[0] == 400
    assert "say who decided and why" in step(server, {"do": "accept", "ids": [one]})[1]["error"]
    assert (
        "is not a day"
        in (step(server, {"do": "waive", "ids": [one], "why": "w", "until": "soon"})[1]["error"])
    )
    assert (
        "is above the upper bound"
        in (step(server, {"do": "edit", "ids": [one], "lower": 3, "upper": 1})[1]["error"])
    )


def test_steps_are_saved_at_once_and_undone_in_turn(server, path, rules):
    """Accept, waive, edit; then back to the file as it was, to the letter."""
    before, (one, other) = path.read_bytes(), rules.ids()[:2]
    step(server, {"do": "accept", "ids": [one], "why": "as agreed"})
    accepted = library.load_rules(path)
    step(server, {"do": "waive", "ids": [other], "why": "w", "until": "2999-12-31"})
    status, said = step(server, {"do": "edit", "ids": [other], "lower": 60, "upper": 90.5})
    edited = library.load_rules(path)

    assert status == 200
    assert said["texts"] == {other: "60 <= heart_rate <= 90.5"}
    assert (accepted.decisions[0].by, accepted.decisions[0].why) == ("Ann", "as agreed")
    assert edited[1].text == "60 <= heart_rate <= 90.5"
    assert edited[1].learned == rules[1].text
    assert edited.ids() == rules.ids()
    assert [step(server, {"do": "undo"})[1]["can_undo"] for _ in range(3)] == [2, 1, 0]
    assert path.read_bytes() == before
    assert step(server, {"do": "undo"})[1]["changed"] == []


def test_what_can_be_undone_holds_nothing_that_was_computed(server, rules):
    """Of many rules that is megabytes a step, and a thousand steps are kept."""
    for one in rules.ids()[:3]:
        step(server, {"do": "accept", "ids": [one], "why": "w"})
        call(server, path=f"/{server.token}/rule?id={one}")
    fields = {"table", "nodes", "schema", "provenance", "held_out", "decisions"}

    assert [vars(kept).keys() for kept, _ in server.session._before] == [fields] * 3


def test_an_edited_bound_is_counted_on_the_rows(server, path, rules):
    """The exact number of rows beyond goes into the file, for checks to compare with."""
    from made_review import patients

    one = rules.ids()[1]
    step(server, {"do": "edit", "ids": [one], "lower": 60, "upper": None})
    values = patients(4000)["heart_rate"]

    assert library.load_rules(path)[1].evidence == [4000.0, float((values < 60).sum())]


def test_a_file_that_somebody_else_changed_is_not_overwritten(server, path, rules):
    """Two people, one file: the second is told."""
    path.write_bytes(path.read_bytes() + b"\n")
    status, said = step(server, {"do": "accept", "ids": [rules.ids()[0]], "why": "w"})

    assert status == 400
    assert said["error"] == (
        "The rules file has changed since it was opened here.\n"
        f"  where: {path}\n"
        "  fix:   stop sqrl review with Ctrl-C and start it again"
    )


def test_a_file_that_is_gone_is_said(server, path, rules):
    """It is not made anew: who took it away knows why."""
    path.unlink()
    status, said = step(server, {"do": "accept", "ids": [rules.ids()[0]], "why": "w"})

    assert status == 400
    assert said["error"].startswith("The rules file has changed since it was opened here.")
    assert not path.exists()


def test_after_the_end_no_step_is_taken(server, path, rules):
    """Ctrl-C waits for the step that is being saved, and there is none after it."""
    before = path.read_bytes()
    server.session.finish()
    status, said = step(server, {"do": "accept", "ids": [rules.ids()[0]], "why": "w"})

    assert (status, said["error"]) == (
        400,
        "The review has ended.\n  fix:   start sqrl review again",
    )
    assert path.read_bytes() == before


def test_a_rule_comes_with_its_values(server, rules):
    """Few enough for a page; of rules about mini-batches there are none."""
    answers = {
        text: json.loads(call(server, path=f"/{server.token}/rule?id={one}")[2])
        for one, text in zip(rules.ids(), rules.texts(), strict=True)
    }
    for text, answer in answers.items():
        is_single = " over " not in text and " else " not in text
        assert ("sketch" in answer) == is_single
        assert answer["can_edit"] == (" else " not in text)
    assert call(server, path=f"/{server.token}/rule?id=../../x")[0] == 400


def test_a_column_that_is_not_there_is_said(path, rules):
    """The other rules can still be looked at."""
    with serving(path, {"age": [30.0, 40.0]}) as server:
        route = f"/{server.token}/rule?id={rules.ids()[1]}"
        answer = json.loads(call(server, path=route)[2])

        assert answer["note"].startswith("Unknown column 'heart_rate'")
        assert call(server)[0] == 200


# The command


def test_the_command_serves_until_it_is_stopped(start, path, tmp_path):
    """It prints the address, and ends cleanly by Ctrl-C with what was saved."""
    rows = "\n".join(["age,heart_rate", *(f"{a},{a + 40}" for a in range(20, 90)), ""])
    Path(tmp_path, "ward.csv").write_text(rows)
    process = start("review", path, "--data", "ward.csv", "--no-open", "--by", "Bo")
    try:
        address = process.stdout.readline().split()[-1]
        _, _, host, token, _ = address.split("/")
        connection = http.client.HTTPConnection(host, timeout=20)
        connection.request("GET", f"/{token}/")
        page = connection.getresponse().read()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()

    assert b'"by":"Bo"' in page
    assert process.returncode == 0
    assert said == (
        f"every step is saved at once; stop with Ctrl-C\nstopped; 0 steps saved in {path}\n"
    )


def test_the_browser_is_not_given_the_token_where_others_see_it(monkeypatch):
    """The arguments of a process are no secret: it opens a file that only we can read."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with opening_browser("http://127.0.0.1:1/secret&/") as thread:
        thread.join()
        path = Path(url2pathname(urlsplit(opened[0]).path))

        assert "secret" not in opened[0]
        assert "url=http://127.0.0.1:1/secret&amp;/" in path.read_text()
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.exists()


def test_who_has_no_name_on_this_machine_is_asked_for_one(sqrl, path, monkeypatch):
    """As in a container under a number that no user has."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    Path("ward.csv").write_text("age\n30\n")
    outcome = sqrl("review", path, "--data", "ward.csv", "--no-open")

    assert outcome.code == 2
    assert "Invalid value for '--by': say who decides." in outcome.err


def test_a_port_that_is_taken_is_said(sqrl, server, path):
    """With what to do about it."""
    Path("ward.csv").write_text("age\n30\n")
    given = ("review", path, "--data", "ward.csv", "--no-open", "--port", server.server_port)
    outcome = sqrl(*given)

    assert outcome.code == 2
    assert outcome.err == (
        f"sqrl: The page cannot be served at 127.0.0.1:{server.server_port}: "
        "Address already in use.\n  fix:   choose another port with --port, or leave it out\n"
    )
