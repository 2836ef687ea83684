from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from dlqadmin.reports.markdown import block, span, table

HOSTILE = [
    "![x](http://evil/?a=1)", "[click](javascript:alert(1))", "<img src=x onerror=alert(1)>", "<script>", "</code>",
    "`", "``", "` ![x](http://evil) `", "`` [a](b) ``", "a\n\n![x](http://evil)", "a\r\r# head", "```\n# head\n```",
    "\n````\n<b>", "~~~\n![x](y)", "| a | b |\n|---|---|", "\\` ![x](http://evil)", "\\", "\\| [a](b)", "&lt;b&gt;",
    "http://evil.example", "www.evil.example", "a@evil.example", "\u202egnp.exe", "\u2028# head", "\x1b[2J", "\ud800",
    "    code", "> quote", "- item", "1. item", "[a]: http://evil", "[a]", "*b* _i_ ~~s~~", "   ", "",
]  # fmt: skip
WORDS = st.text(alphabet=st.sampled_from("`~|\\[]()!<>#*_-=:/.@&;a \n\r\t"), max_size=40)
OURS = {"inline", "text", "code_inline", "fence", "paragraph_open", "paragraph_close", "softbreak",
        "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"}  # fmt: skip


def kinds(text: str) -> set[str]:
    """What a renderer makes of the text, HTML allowed and tables on."""
    return {token.type for one in MarkdownIt("commonmark").enable("table").parse(text) for token in walk(one)}


def walk(token: Token) -> list[Token]:
    return [token, *(inner for child in token.children or () for inner in walk(child))]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_record_holds_is_one_code_span(text: str) -> None:
    written = f"- before {span(text)} between {span('`' + text)} after"
    assert kinds(written) <= OURS
    tokens = [t for one in MarkdownIt("commonmark").parse(written) for t in walk(one)]
    assert [t.content for t in tokens if t.type == "text"] == ["before ", " between ", " after"]


@given(WORDS, WORDS)
@example("`", "`")
def test_no_two_texts_in_one_line_make_anything_together(first: str, second: str) -> None:
    written = f"- before {span(first)} between {span(second)} after"
    tokens = [t for one in MarkdownIt("commonmark").enable("table").parse(written) for t in walk(one)]
    assert {t.type for t in tokens} <= OURS
    assert [t.content for t in tokens if t.type == "text"] == ["before ", " between ", " after"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_is_one_block(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(f"Value:\n\n{block(text)}\n\nafter")
    assert [t.type for t in tokens if t.type not in OURS] == []
    assert [t.type for t in tokens if t.type == "fence"] == ["fence"]
    assert tokens[-2].content == "after"


@given(WORDS)
def test_no_value_ends_its_block(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(f"Value:\n\n{block(text)}\n\nafter")
    assert [t.content for t in tokens if t.type == "inline"] == ["Value:", "after"]


def test_what_is_not_seen_is_written_out() -> None:
    assert span("\u202egnp\x1b") == "` \\u202egnp\\x1b `"
    assert span("a\nb") == "` a\\nb `"


def test_long_text_is_cut_and_says_so() -> None:
    assert span("x" * 400, 10) == f"` {'x' * 10}… (400 characters) `"
    assert "(5000 characters)" in block("y" * 5000)


def test_a_table_is_a_table() -> None:
    assert "table_open" in kinds(table(("hour from", "failures"), [("2026-11-21 03:00:00", "7")]))
