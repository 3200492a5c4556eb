"""Answers that are no source: a refusal, a captcha, a consent wall, an empty shell for scripts.

They often come with status 200 and a page of text; taken for a document they would be quoted. The
marks are those of the services themselves: Cloudflare, Akamai, Imperva, DataDome, PerimeterX, AWS
WAF, Google, SEC EDGAR.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from deskwork.tools.errors import WebError

_SHORT = 3_000
"""Characters of visible text up to which a page's words are its message, not its subject."""
_LOOKED_AT = 400_000

_THROTTLED = r"request rate threshold exceeded|too many requests|rate limit(?:ed)? exceeded"
_NOT_AUTOMATED = r"undeclared automated tools?|automated (?:access|queries|requests?)"
_CHALLENGE = (
    r"just a moment\.\.\.|attention required! \| cloudflare|checking (?:if the site connection is"
    r" secure|your browser before accessing)|verify(?:ing)? (?:that )?you are (?:a )?human"
    r"|are you a (?:robot|human)\?|i'?m not a robot|unusual traffic from your computer"
    r"|press (?:and|&) hold to confirm|complete the (?:captcha|security check)|security check"
    r" to access|please solve (?:the|this) captcha|pardon our interruption|ddos protection by"
    r"|incapsula incident id|request unsuccessful\. incapsula|bot (?:detection|protection)"
)
_CHALLENGE_MARKUP = (
    r"/cdn-cgi/challenge-platform/|cf-chl-|_cf_chl_opt|class=[\"'](?:g-recaptcha|h-captcha"
    r"|cf-turnstile)|captcha-delivery\.com|px-captcha|_incapsula_resource|awswafintegration"
    r"|geo\.captcha|/sorry/index"
)
_DENIED = (
    r"access (?:to this (?:page|site|resource) )?(?:has been |is )?denied"
    r"|you (?:don'?t|do not) have permission to access|you have been blocked|request blocked"
    r"|the request could not be satisfied|reference (?:#|&#35;)\s?\d+\.[0-9a-f]+"
    r"|your ip (?:address )?has been (?:blocked|banned)|sorry, you have been blocked"
)
_CONSENT = r"before you continue to (?:google|youtube)"
_CONSENT_WORD = re.compile(r"cookies?|consent|privacy|partners?|accept|reject|gdpr|tracking", re.I)
_CONSENT_SHARE = 0.08  # of all words; an article with a banner has a third of that
_CONSENT_HOSTS = re.compile(r"^https?://(?:consent|guce)\.|/(?:cookie-?)?consent(?:wall)?[/?]")
_SCRIPT = (
    r"(?:please )?enable java ?script|java ?script (?:is|must be) (?:disabled|required|enabled)"
    r"|you need to enable javascript|requires java ?script"
)
_LOGIN = (
    r"(?:log|sign) ?in to (?:continue|read|view)|(?:please )?(?:log|sign) ?in or (?:register|create"
    r" an account) to|subscribe to (?:continue|keep) reading|create a free account to"
)

_STATUSES = {
    401: ("login needed", "the server wants a login"),
    402: ("login needed", "the server wants to be paid"),
    403: ("forbidden", "the server refuses us the page"),
    404: ("not found", "there is no such page"),
    407: ("forbidden", "a proxy wants a login"),
    410: ("gone", "the page was removed"),
    429: ("throttled", "the server was asked too often"),
    451: ("forbidden", "the page is withheld for legal reasons"),
}


def check_answer(status: int, url: str, headers: Mapping[str, str], body: bytes) -> None:
    """Raise `WebError` for an answer that is no document; the message says what it is.

    ``headers`` is looked up by lower-case names. The body is looked at only where it is a text.
    """
    text = _as_text(headers.get("content-type", ""), body)
    title = _plain(_group(re.search(r"<title[^>]*>(.*?)</title>", text, re.I | re.S)))
    visible = _visible(text)
    wait = _seconds(headers.get("retry-after", ""))
    found = _recognised(status, url, headers, text, title, visible)
    if found is None and status >= 400:
        found = _by_status(status)
    if found is None and (not body or status >= 300):
        found = ("unreadable", "the answer holds no document")
    if found is None:
        return
    kind, why = found
    told = f"HTTP {status}" + (f", titled “{title[:80]}”" if title else "")
    raise WebError(kind, f"{url}: {why} ({told}).", _hint(kind, wait), retry_after=wait)


def _recognised(
    status: int, url: str, headers: Mapping[str, str], text: str, title: str, visible: str
) -> tuple[str, str] | None:
    mitigated = headers.get("cf-mitigated", "") or headers.get("x-amzn-waf-action", "")
    if mitigated in ("challenge", "captcha"):
        return "block page", "a challenge stands before the page"
    if not text:
        return None
    said = f"{title}\n{visible}" if len(visible) < _SHORT else title
    if _has(_THROTTLED, said):
        return "throttled", "the server was asked too often"
    if _has(_NOT_AUTOMATED, said):
        return "forbidden", "the server refuses programs that don't name themselves"
    if status in (403, 404) and re.search(r"<Code>(?:AccessDenied|NoSuchKey)</Code>", text):
        return "not found", "the store holds no such object"
    # A form may bear a captcha of its own; a page that is nothing but one is short.
    if _has(_CHALLENGE, said) or (len(visible) < _SHORT // 3 and _has(_CHALLENGE_MARKUP, text)):
        return "block page", "a captcha or a bot check stands before the page"
    if _has(_DENIED, said):
        return "block page", "a page that refuses access stands in its place"
    if _CONSENT_HOSTS.search(url) or _has(_CONSENT, said) or _asks_consent(visible):
        return "consent wall", "a question about cookies stands before the page"
    if len(visible) < 600 and status < 400:
        if _has(_SCRIPT, said) or _has(_SCRIPT, _plain(_group(_NOSCRIPT.search(text)))):
            return "needs JavaScript", "the page is an empty shell that scripts would fill"
        if _has(_LOGIN, said):
            return "login needed", "the page is for those who are logged in"
    if status < 400 and re.match(r"(?:error )?404\b|page not found\b", title, re.I):
        return "not found", "the page says that it isn't there"
    return None


def _asks_consent(visible: str) -> bool:
    words = visible.split()
    if len(visible) >= _SHORT or len(words) < 12 or not _has("cookie", visible):
        return False
    return len(_CONSENT_WORD.findall(visible)) > _CONSENT_SHARE * len(words)


_NOSCRIPT = re.compile(r"<noscript[^>]*>(.*?)</noscript>", re.I | re.S)


def _by_status(status: int) -> tuple[str, str]:
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        return "server error", "the server failed"
    return "forbidden", "the server refuses the request"


def _hint(kind: str, wait: float | None) -> str:
    if kind in ("throttled", "server error"):
        return (
            f"Try again in {wait:.0f} seconds." if wait else "Try again later, or another source."
        )
    return "Try another source: another address, a copy, or the publisher's own documents."


def _as_text(content_type: str, body: bytes) -> str:
    start = body[:512].lstrip().lower()
    marked = start.startswith((b"<", b"\xef\xbb\xbf<"))
    if not marked and not content_type.lower().startswith(("text/", "application/xhtml")):
        return ""
    match = re.search(r"charset=[\"']?([\w-]+)", content_type)
    try:
        return body[:_LOOKED_AT].decode(match.group(1) if match else "utf-8", "replace")
    except LookupError:
        return body[:_LOOKED_AT].decode("utf-8", "replace")


def _visible(text: str) -> str:
    bare = re.sub(r"<(script|style|noscript|svg|head)\b.*?</\1\s*>", " ", text, flags=re.I | re.S)
    return _plain(bare)


def _plain(markup: str) -> str:
    import html

    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split()).replace("’", "'")


def _group(match: re.Match[str] | None) -> str:
    return match.group(1) if match else ""


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.I) is not None


def _seconds(text: str) -> float | None:
    """A Retry-After in seconds; its date form is left out, a wait is told in words anyway."""
    return min(float(text), 86_400.0) if text.strip().isdigit() else None
