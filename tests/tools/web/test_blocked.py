"""Block pages are errors by name; articles about such things are articles."""

from __future__ import annotations

import pytest

from deskwork.tools.errors import WEB_FAILURES, WebError
from deskwork.tools.web.blocked import check_answer
from tests.tools.web.server import article

HTML = {"content-type": "text/html"}


def page(title: str, body: str) -> bytes:
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode()


CONSENT = """<h1>We value your privacy</h1><p>We and our 842 partners store and access information
on a device, such as cookies, and process personal data for tracking. You may accept or reject.</p>
<button>Accept all</button><button>Reject all</button>"""

REFUSALS = [
    (503, page("Just a moment...", "Checking your browser before accessing"), "block page"),
    (403, page("Attention Required! | Cloudflare", "Sorry, you have been blocked"), "block page"),
    (200, page("", "<script src='/cdn-cgi/challenge-platform/x.js'></script>"), "block page"),
    (200, page("Robot check", "Please verify you are a human to go on."), "block page"),
    (200, page("", "Our systems have detected unusual traffic from your computer"), "block page"),
    (403, page("", "Press &amp; Hold to confirm you are a human"), "block page"),
    (200, page("", "Request unsuccessful. Incapsula incident ID: 443-22"), "block page"),
    (403, page("", "<script>dd={'host':'geo.captcha-delivery.com'}</script>"), "block page"),
    (
        403,
        page("Access Denied", "You don't have permission to access this. Reference #18.a1b2"),
        "block page",
    ),
    (200, page("Pardon Our Interruption", "As you were browsing something"), "block page"),
    (200, page("Privacy", CONSENT), "consent wall"),
    (200, page("Before you continue to Google Search", "..."), "consent wall"),
    (200, page("App", "<noscript>You need to enable JavaScript to run this app.</noscript>"),
     "needs JavaScript"),
    (200, page("News", "Please log in to continue reading."), "login needed"),
    (200, page("404 Not Found", "nginx"), "not found"),
    (403, page("Forbidden", "nginx"), "forbidden"),
    (418, b"", "forbidden"),
    (502, page("Bad gateway", ""), "server error"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), REFUSALS)
def test_what_is_no_document_is_named(status: int, body: bytes, kind: str) -> None:
    with pytest.raises(WebError) as caught:
        check_answer(status, "https://a.example/", HTML, body)
    assert caught.value.kind == kind
    assert kind in WEB_FAILURES
    assert f"HTTP {status}" in str(caught.value)


def test_a_challenge_is_told_by_its_header_and_a_wall_by_its_address() -> None:
    with pytest.raises(WebError, match="challenge"):
        check_answer(403, "https://a.example/", {"cf-mitigated": "challenge"}, b"")
    with pytest.raises(WebError) as caught:
        check_answer(200, "https://consent.yahoo.example/v2?x", HTML, article())
    assert caught.value.kind == "consent wall"


LONG = " ".join(["Sites use a captcha to verify you are a human, and say access denied."] * 60)


@pytest.mark.parametrize(
    "body",
    [
        article(),
        article("Visitors are asked to accept all cookies, or to manage them. We value privacy."),
        page("How captchas work", f"<p>{LONG}</p>"),
        page("Contact", "<p>" + "Write to us at any time. " * 60 + "</p><div class='g-recaptcha'>"),
        page("Results", "<p>Sales rose to 842.6 million.</p>"),
    ],
)
def test_documents_pass(body: bytes) -> None:
    check_answer(200, "https://a.example/", HTML, body)


def test_other_kinds_are_not_looked_into() -> None:
    check_answer(200, "https://a.example/x", {"content-type": "application/pdf"}, b"%PDF captcha")
