"""The other commands, their help, and what they say to bad usage."""

import subprocess
import sys

import pytest

import tamis
from tamis.cli.app import app
from tamis.cli.market import SUBSCRIPTIONS, events
from tamis.engines.registry import ENGINES
from tamis.lang import parse
from tamis.model.evaluate import matches
from tamis.model.event import normalise

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]


def test_check_shows_every_error_with_its_position(run, tmp_path):
    (tmp_path / "f.txt").write_text("a = 1\nprise <\n\nb like\nc in ()\n")
    done = run("check", "f.txt")
    assert done.code == 1
    places = [line.split(": ")[0] for line in done.err.splitlines() if line.startswith("f.txt:")]
    assert places == ["f.txt:2", "f.txt:4", "f.txt:5"]
    assert done.err.count("^") >= 3
    assert done.err.endswith("tamis: 3 problems in f.txt\n")


def test_check_finds_ids_used_twice(run):
    done = run("check", "-", "--format", "csv", stdin=b"id,filter\na,x = 1\nb,x = 1\na,x = 2\n")
    assert done.code == 1
    assert "standard input:4: 'a': the id is taken by line 2" in done.err


def test_check_of_good_filters(run):
    done = run("check", "-", stdin=b"a = 1\nnot (b = 2 or c = 3)\n")
    assert (done.code, done.out, done.err) == (0, "2 filters, well-formed\n", "")


def test_engines_lists_them_all(run):
    done = run("engines")
    assert done.code == 0
    for name in ENGINES:
        assert name in done.out


def test_engines_suggests_one_and_says_why(run, tmp_path):
    subscriptions, events = tmp_path / "subs.txt", tmp_path / "events.jsonl"
    subscriptions.write_text("".join(f"a = {i} and b > {i % 5}\n" for i in range(300)))
    events.write_text("".join(f'{{"a": {i}, "b": 3}}\n' for i in range(30)) + '{"a": {"b": [{}]}}\n')
    done = run("engines", "-s", str(subscriptions), "-e", str(events), "--batch", "100", "--updates", "0.5")
    assert done.code == 0, done.err
    first, *others = done.out.splitlines()
    assert first.partition(":")[0] in ENGINES
    assert "300 subscriptions, 2.0 predicates each, 50% of them equalities, 2 attributes per event" in first
    assert "100 events per call, 0.5 changes per event" in first
    assert others[0].split()[:2] == [first.partition(":")[0], "1.0"]
    assert run("engines", "-e", str(events)).code == 2


def test_demo_notifies_exactly_those_who_wait(run):
    done = run("demo", "--events", "40", "--seed", "5", "--no-spark")
    assert done.code == 0, done.err
    offers = [normalise(offer) for offer in events(40, 5)]
    expected = sorted(n for offer in offers for n, text in SUBSCRIPTIONS.items() if matches(parse(text), offer))
    told = sorted(line.split()[1] for line in done.out.splitlines() if line.lstrip().startswith("✉"))
    assert told == expected
    assert f"40 offers, 10 subscriptions, {len(expected)} notifications" in done.out
    assert run("demo", "--events", "40", "--seed", "5", "--no-spark").out == done.out


def test_demo_as_it_comes_has_something_to_show(run):
    done = run("demo", "--no-spark")
    assert len({line.split()[1] for line in done.out.splitlines() if line.lstrip().startswith("✉")}) >= 6
    assert "A near miss" in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run, command):
    done = run(command, "--help")
    assert done.code == 0
    _, found, example = done.out.partition("Example:\n")
    assert found
    assert f"tamis {command}" in example.splitlines()[0]


def test_version(run):
    assert run("--version").out == f"tamis {tamis.__version__}\n"


def test_no_arguments_give_help(run):
    done = run()
    assert all(command in done.out + done.err for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 2, "No such command 'nothing'"),
        (["match"], 2, "Missing option"),
        (["match", "--what"], 2, "No such option"),
        (["match", "-s", "-", "-e", "-"], 1, "cannot both come from standard input"),
        (["match", "-s", "no.csv", "-e", "-"], 1, "no.csv: no such file"),
        (["match", "-s", "s.txt", "-e", "e.xml"], 1, "cannot tell the format"),
        (["match", "-s", "s.txt", "-e", "s.txt"], 1, "events come as CSV, JSONL or Parquet"),
        (["match", "-s", "s.txt", "-e", "-", "--format", "xml"], 2, "'xml'"),
        (["match", "-s", "s.txt", "-e", "-", "--engine", "scam"], 1, "did you mean 'scan'?"),
        (["match", "-s", "s.txt", "-e", "-", "--option", "speed"], 1, "NAME=VALUE"),
        (["match", "-s", "s.txt", "-e", "-", "--engine", "scan", "--option", "speed=1"], 1, "no option 'speed'"),
        (["match", "-s", "s.txt", "-e", "-", "--engine", "betree", "--option", "visit_cost=x"], 1, "takes an integer"),
        (["match", "-s", "s.txt", "-e", "-", "-o", "m.csv"], 1, ".jsonl or .parquet"),
        (["match", "-s", "s.txt", "-e", "-", "-o", "no/m.jsonl"], 1, "no directory"),
        (["match", "-s", "s.txt", "-e", "-", "--type", "no.type"], 1, "no.type: no such file"),
        (["match", "-s", "s.txt", "-e", "-", "--type", "s.txt"], 1, "s.txt: "),
        (["explain", "{}"], 1, "give --filter TEXT or --subscriptions FILE"),
        (["explain", "{", "-f", "a = 1"], 1, "the event: not JSON"),
        (["explain", "[1]", "-f", "a = 1"], 1, "not an array"),
        (["explain", '{"a": 1e999}', "-f", "a = 1"], 1, "a"),
        (["explain", "@no.json", "-f", "a = 1"], 1, "no.json: no such file"),
        (["explain", "{}", "-f", "a ="], 1, "line 1, column 4"),
        (["explain", "{}", "-s", "s.txt", "--id", "x"], 1, "there is no subscription 'x'"),
        (["check", "no.txt"], 1, "no.txt: no such file"),
        (["demo", "--events", "none"], 2, "valid integer"),
        (["demo", "--events", "0"], 2, "greater than or equal to 1"),
    ],
)
def test_bad_usage_gives_one_message(run, tmp_path, arguments, code, message):
    (tmp_path / "s.txt").write_text("a = 1\n")
    done = run(*arguments)
    assert done.code == code, done.err
    assert message in done.err
    assert "Traceback" not in done.err


def test_help_loads_nothing_heavy(process):
    _, environment = process
    code = (
        "import sys, tamis.cli; print([m for m in ('numba', 'numpy', 'pyarrow', 'lark', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_as_a_process_a_database_ends_in_silence(process, tmp_path):
    command, environment = process
    (tmp_path / "s.txt").write_text("a = 1\n")
    (tmp_path / "e.jsonl").write_text('{"a": 1}\n')
    files = ["-s", str(tmp_path / "s.txt"), "-e", str(tmp_path / "e.jsonl")]
    arguments = [*command, "match", "--engine", "sql", *files, "--quiet"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_as_a_process_events_are_answered_as_they_come(process, tmp_path):
    command, environment = process
    (tmp_path / "s.txt").write_text("a = 1\n")
    arguments = [*command, "match", "-s", str(tmp_path / "s.txt"), "-e", "-", "--quiet"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        arguments, env=environment, text=True, bufsize=1, stdin=pipe, stdout=pipe, stderr=pipe
    ) as running:
        assert running.stdin
        assert running.stdout
        running.stdin.write('{"a": 1}\n')
        assert running.stdout.readline() == '{"event":1,"matches":[1]}\n'
        running.stdin.write('{"a": 2}\n')
        assert running.stdout.readline() == '{"event":2,"matches":[]}\n'
        out, err = running.communicate()
    assert (running.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_as_a_process_a_reader_that_leaves_is_no_disaster(process, tmp_path, unbuffered):
    command, environment = process
    environment["PYTHONUNBUFFERED"] = unbuffered
    (tmp_path / "s.txt").write_text("n >= 0\n")
    (tmp_path / "e.csv").write_text("n\n" + "1\n" * 20_000)
    arguments = [*command, "match", "-s", str(tmp_path / "s.txt"), "-e", str(tmp_path / "e.csv")]
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1
