import pytest

from deskwork.tools.web.robots import may_fetch

RULES = """\
# A site's rules
User-agent: googlebot
Disallow: /

User-agent: *
User-agent: other
Disallow: /a
Allow: /a/open
Disallow: /*?sort=
Disallow: /*.gif$
Disallow:
Sitemap: https://a.example/sitemap.xml

User-agent: Deskbot
Disallow: /
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/a", False),
        ("/a/b", False),
        ("/a/open/x", True),
        ("/list?sort=up", False),
        ("/x/y.gif", False),
        ("/x/y.gif?z", True),
        ("/%61/b", False),
    ],
)
def test_the_longest_rule_wins(path: str, allowed: bool) -> None:
    assert may_fetch(RULES, path) is allowed


def test_our_own_group_stands_before_everybodys() -> None:
    own = "User-agent: Deskwork/1.0\nDisallow: /no\n\nUser-agent: *\nDisallow: /\n"
    assert may_fetch(own, "/yes")
    assert not may_fetch(own, "/no")
    assert not may_fetch(own, "/yes", name="other")
    assert may_fetch("", "/x")
    assert may_fetch("<html>no rules at all</html>", "/x")
