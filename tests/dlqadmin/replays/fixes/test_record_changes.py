from __future__ import annotations

import json
import os

import pytest

from dlqadmin.replays.fixes.errors import ProgramRefused, RecordUnusable
from dlqadmin.replays.fixes.jq_process import Jq
from dlqadmin.replays.fixes.record_changes import MAX_VALUE_BYTES, Change, changer
from dlqadmin.replays.items.messages import Outgoing

VALUE = '{ "id": 9007199254740993, "gap": null, "p":{"mag":1.10,"s":"é"}, "t":"5.0", "x":1e400, "a":1, "a":-0.0 }'


def change(
    kind: str, program: str, value: bytes | None = VALUE.encode(), headers: tuple[tuple[str, bytes], ...] = ()
) -> Change:
    with changer(kind, program) as made:
        return made(Outgoing(b"k", value, headers))


def changed(kind: str, program: str, value: str = VALUE) -> str:
    found = change(kind, program, value.encode())
    assert found.message is not None, found
    assert found.message.value is not None
    return found.message.value.decode()


@pytest.mark.parametrize(
    ("kind", "program", "was", "now"),
    [
        ("jq", ".gap //= 0", '"gap": null', '"gap": 0'),
        ("jq", '.p.s = "ü"', '"s":"é"', '"s":"ü"'),
        ("jq", "del(.x)", '"x":1e400, ', ""),
        ("jq", ".p.new = .id", '"s":"é"}', '"s":"é","new":9007199254740993}'),
        ("jq", "# set the gap\n.gap = 1 # to one", '"gap": null', '"gap": 1'),
        ("patch", '[{"op":"replace","path":"/gap","value":1.50}]', '"gap": null', '"gap": 1.50'),
        ("patch", '[{"op":"add","path":"/gap","value":9007199254740995}]', '"gap": null', '"gap": 9007199254740995'),
        ("patch", '[{"op":"copy","from":"/id","path":"/gap"}]', '"gap": null', '"gap": 9007199254740993'),
        ("fields", '[{"act":"set","path":"gap","when":"null","value":0}]', '"gap": null', '"gap": 0'),
        ("fields", '[{"act":"cast","path":"/t","to":"integer"}]', '"t":"5.0"', '"t":5'),
        ("fields", '[{"act":"cast","path":"t","to":"number"}]', '"t":"5.0"', '"t":5.0'),
        ("fields", '[{"act":"cast","path":"p.mag","to":"string"}]', '"mag":1.10', '"mag":"1.10"'),
        ("fields", '[{"act":"unset","path":"/p/s"}]', ',"s":"é"', ""),
    ],
)
def test_only_the_edited_path_changes(kind: str, program: str, was: str, now: str) -> None:
    assert changed(kind, program) == VALUE.replace(was, now)


@pytest.mark.parametrize(
    ("kind", "program"),
    [
        ("jq", "."),
        ("jq", "select(.gap == 1) | .gap = 2"),
        ("jq", ".gap = null"),
        ("jq", "to_entries | from_entries"),
        ("patch", '[{"op":"test","path":"/gap","value":1},{"op":"remove","path":"/gap"}]'),
        ("patch", '[{"op":"test","path":"/none","value":1},{"op":"remove","path":"/gap"}]'),
        ("fields", '[{"act":"set","path":"gap","when":"missing","value":0}]'),
        ("fields", '[{"act":"cast","path":"none","to":"integer"}]'),
        ("fields", '[{"act":"unset_header","name":"none"}]'),
        ("fields", '[{"act":"set_key","value":"k"}]'),
    ],
)
def test_what_is_not_meant_is_untouched(kind: str, program: str) -> None:
    assert change(kind, program) == Change("untouched")


@pytest.mark.parametrize(
    ("kind", "program", "why"),
    [
        ("jq", ".id += 0", "jq would round 9007199254740993 at /id to 9007199254740992"),
        ("jq", ".x += 0", "jq would round 1e400 at /x to 1.7976931348623157e+308"),
        ("jq", ".,.", "the program returns more than one result"),
        ("jq", 'error("no such luck")', "jq: no such luck"),
        ("jq", ".gap.x.y = (.id | .z)", "jq: Cannot index number"),
        ("patch", '[{"op":"replace","path":"/none/x","value":1}]', "/none does not exist"),
        ("patch", '[{"op":"add","path":"/p/s/x","value":1}]', "/p/s/x can't be set"),
        ("patch", '[{"op":"remove","path":"/none"}]', "/none does not exist"),
        ("fields", '[{"act":"cast","path":"/p","to":"integer"}]', "/p is an object, not a single value"),
        ("fields", '[{"act":"cast","path":"/p/s","to":"integer"}]', '/p/s is "é", which can\'t be cast to integer'),
        ("fields", '[{"act":"set","path":"none.x","value":1}]', "/none does not exist"),
    ],
)
def test_a_record_that_can_t_be_changed_so_says_why(kind: str, program: str, why: str) -> None:
    found = change(kind, program)
    assert found.what == "invalid"
    assert why in found.why


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "the value is null"),
        (b"plain", "the value is not JSON: byte 0"),
        (b'{"a": "\xff"}', "the value is not JSON: byte 7: not UTF-8"),
        (b'{"a":NaN}', "the value is not JSON: byte 5"),
        (b"", "the value is not JSON: byte 0"),
        (b'"' + b"x" * MAX_VALUE_BYTES + b'"', "the value is larger than 1 MB"),
        (b'"\\ud800"', "jq: "),
    ],
)
def test_a_value_that_jq_can_t_take_is_invalid(value: bytes | None, why: str) -> None:
    found = change("jq", ".", value)
    assert found.what == "invalid"
    assert why in found.why


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_times_are_told_in_utc_wherever_the_worker_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    with changer("jq", '.a |= (strptime("%H:%M") | mktime | strftime("%H:%M %s"))') as made:
        changed = made(Outgoing(None, b'{"a":"03:00"}', ()))
    assert changed.message is not None
    assert b"03:00" in (changed.message.value or b"")
    assert str(-2209064400).encode() in (changed.message.value or b"")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("", "The program is empty"),
        ("def f: f; f", "did not end within"),
        ("[range(1e12)]", "did not end within|exceeded its memory"),
        ('"a" * 1e9', "exceeded its memory or CPU limit"),
        ('"a" * 5000000', "larger than 4 MB"),
        ("$ENV", r"`\$ENV` is not available"),
        ("env.HOME", "`env` is not available"),
        ('"\\($ENV.PATH)"', r"`\$ENV` is not available"),
        ("input", "`input` is not available"),
        ("[inputs]", "`inputs` is not available"),
        ("input_filename", "`input_filename` is not available"),
        ("halt", "`halt` is not available"),
        (".gap = .p[now:]", "`now` is not available"),
        (".gap = .p[:now]", "`now` is not available"),
        (".gap = .p[1,now:]", "`now` is not available"),
        (".gap = {a: .p[now :]}", "`now` is not available"),
        (".gap = {now: now}", "`now` is not available"),
        (".gap = {a: 1, (now): 1}", "`now` is not available"),
        ('.gap = {"\\(now)": 1}', "`now` is not available"),
        ('.gap = "\\(.p[now:])"', "`now` is not available"),
        ("{$ENV: 1}", r"`\$ENV` is not available"),
        ("$ ENV", r"`\$ENV` is not available"),
        (".gap = now", r"`now` is not available, .* one record\. To use a member of that name, write"),
        ('0 | strflocaltime("%H")', "`strflocaltime` is not available"),
        ("0 | localtime | mktime", "`localtime` is not available"),
        ("get_jq_origin", "`get_jq_origin` is not available"),
        ('"x" | halt_error', "`halt_error` is not available"),
        ('import "passwd" as $x; .', "`import` is not available"),
        (".a = (.b", "jq, line 1, column 7: syntax error, unexpected end of file"),
        (".a = 1 |\n.b = }", "jq, line 2, column 6: syntax error"),
        ("nope(1)", "nope/1 is not defined"),
        ("x" * 20_001, "at most 20000 characters"),
        ("\ud800", "unpaired surrogate"),
    ],
)
def test_a_program_that_can_t_be_used_is_refused_in_one_sentence(program: str, says: str) -> None:
    limit_s = 0.5 if "f: f" in program or "range" in program else 20.0
    with pytest.raises(ProgramRefused, match=says), changer("jq", program, limit_s) as made:
        made(Outgoing(None, b'{"a":1}', ()))


@pytest.mark.parametrize(
    "program",
    [
        '# "\nenv #"',  # a quote in a comment opens no string
        '#\\\n"\nenv #"',  # nor does one in a comment that goes on
        '"\\("a#b")" | env',  # a number sign in a string begins no comment
        '"\\(("a"), env)"',
        '"\\\\" | env',
    ],
)
def test_nothing_reaches_out_from_behind_a_quote_or_a_comment(program: str) -> None:
    with pytest.raises(ProgramRefused, match="`env` is not available"):
        change("jq", program)


@pytest.mark.parametrize(
    "program",
    [
        ".gap = {now: 1}",
        ".gap = {a: [1], now : 1}",
        '.gap = {"now": 1}',
        '.gap = {"a\\(1)": {}, now: 1}',
        ".gap = ({now: 1} as {now: $now} | {now: $now})",
        ".gap.now = 1",
    ],
)
def test_a_member_may_be_called_like_what_is_refused(program: str) -> None:
    assert changed("jq", program).count('"now":1') == 1
    assert change("jq", ".now", b'{"now":1}').what == "changed"


def test_words_in_strings_and_comments_are_no_reaching_out() -> None:
    assert changed("jq", '.gap = "env" # env, "\\(input)"').count('"env"') == 1
    assert changed("jq", '.gap = "\\("halt")"').count('"halt"') == 1


@pytest.mark.slow
def test_a_patch_that_copies_without_measure_is_invalid() -> None:
    doubling = json.dumps([{"op": "copy", "from": "", "path": "/-"}] * 60)
    assert change("patch", doubling, b"[1]").why == "the patch would copy more than 4 MB"


def test_names_of_members_are_no_reaching_out() -> None:
    assert (
        changed("jq", '.env = {input: 1} | .input = "env" # halt', '{"env":0}') == '{"env":{"input":1},"input":"env"}'
    )


def test_jq_sees_nothing_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "do not tell")
    with Jq("[env, $ENV] | map(del(.LC_CTYPE))") as jq:  # which Python sets for itself
        assert jq.run(b"{}") == b"[[{},{}]]"
    with pytest.raises(ProgramRefused, match="jq"), Jq('import "dir/hosts" as $x {search: "/etc"}; $x'):
        pass
    with pytest.raises(RecordUnusable, match="break"), Jq("input") as jq:
        jq.run(b"{}")


def test_nothing_is_left_of_a_program_that_does_not_end() -> None:
    with pytest.raises(ProgramRefused), Jq("def f: f; f", 0.2) as jq:
        jq.run(b"1")
    with pytest.raises(ProcessLookupError):
        os.kill(jq._process.pid, 0)


@pytest.mark.parametrize(
    ("kind", "program", "says"),
    [
        ("patch", "[", "The patch is not JSON: byte 1"),
        ("patch", "{}", "an array of operations"),
        ("patch", "[1]", "Operation 1 is not an object"),
        ("patch", '[{"op":"set","path":"/a"}]', 'Operation 1: "op" must be one of'),
        ("patch", '[{"op":"add","path":"/a"}]', 'Operation 1 \\(add\\) has no "value"'),
        ("patch", '[{"op":"remove","path":"a"}]', 'Operation 1: "a" is not a JSON Pointer'),
        ("patch", '[{"op":"remove","path":"/a~2"}]', 'write "~" as ~0'),
        ("patch", '[{"op":"move","from":"/a","path":"/a/b"}]', "into itself"),
        ("patch", '[{"op":"copy","path":"/a/b"}]', 'Operation 1 has no "from"'),
        ("fields", "[]", "The form has no line"),
        ("fields", '[{"act":"drop","path":"a"}]', 'Line 1: "act" must be one of'),
        ("fields", '[{"act":"set","path":"a"}]', 'Line 1 \\(set\\) has no "value"'),
        ("fields", '[{"act":"set","path":"","value":1}]', "Line 1 names no field"),
        ("fields", '[{"act":"cast","path":"a","to":"date"}]', 'Line 1: "to" must be one of'),
        ("fields", '[{"act":"unset","path":"a","when":"never"}]', 'Line 1: "when" must be one of'),
        ("fields", '[{"act":"set_key","value":1}]', "must be text or null"),
        ("fields", '[{"act":"set_header","name":"dlq.replay.id","value":"1"}]', "the replay adds the dlq"),
        ("fields", '[{"act":"set_header","name":"a","value":"\\ud800"}]', "unpaired surrogate"),
    ],
)
def test_a_patch_or_form_that_can_t_be_used_says_which_line(kind: str, program: str, says: str) -> None:
    with pytest.raises(ProgramRefused, match=says):
        change(kind, program)


def test_a_form_changes_key_and_headers_and_leaves_the_value() -> None:
    rows = ({"act": "set_key", "value": "new"}, {"act": "set_header", "name": "b", "value": "2"})
    program = json.dumps([*rows, {"act": "unset_header", "name": "a"}])
    found = change("fields", program, b"no JSON", (("a", b"1"), ("b", b"1"), ("c", b"\xff"), ("b", b"3")))
    assert found.message == Outgoing(b"new", b"no JSON", (("b", b"2"), ("c", b"\xff")))
    assert found.paths == ("key", "headers")


@pytest.mark.parametrize(
    ("operations", "before", "after"),  # RFC 6902, appendix A
    [
        ('[{"op":"add","path":"/baz","value":"qux"}]', '{"foo":"bar"}', '{"foo":"bar","baz":"qux"}'),
        ('[{"op":"add","path":"/foo/1","value":"qux"}]', '{"foo":["bar","baz"]}', '{"foo":["bar","qux","baz"]}'),
        ('[{"op":"remove","path":"/foo/1"}]', '{"foo":["bar","qux","baz"]}', '{"foo":["bar","baz"]}'),
        ('[{"op":"move","from":"/foo/1","path":"/foo/3"}]', '{"foo":["a","g","c","e"]}', '{"foo":["a","c","e","g"]}'),
        ('[{"op":"add","path":"/foo/-","value":["abc","def"]}]', '{"foo":["bar"]}', '{"foo":["bar",["abc","def"]]}'),
        ('[{"op":"replace","path":"/~01","value":1}]', '{"/":9,"~1":10}', '{"/":9,"~1":1}'),
        ('[{"op":"test","path":"/a","value":1.0},{"op":"add","path":"","value":[]}]', '{"a":1}', "[]"),
    ],
)
def test_json_patch_does_what_its_text_says(operations: str, before: str, after: str) -> None:
    assert changed("patch", operations, before) == after
