"""Users of a host in an image that does not know them."""

from __future__ import annotations

from envbuilder.image.running.callers import GROUP, PASSWD, registered
from envbuilder.oci.runtime.command import Caller

USERS = b"root:x:0:0::/root:/bin/bash\napp:x:1000:1000::/home/app:/bin/bash"
GROUPS = b"root:x:0:\napp:x:1000:\n"


def test_a_known_user_keeps_name_and_home_of_the_image() -> None:
    user = registered(Caller(uid=1000, gid=1000, name="ada"), USERS, GROUPS)
    assert (user.uid, user.gid, user.home, user.files) == (1000, 1000, "/home/app", ())


def test_an_unknown_user_gets_a_name_a_group_and_a_home() -> None:
    user = registered(Caller(uid=1234, gid=100, name="ada"), USERS, GROUPS)
    assert user.home == "/home/ada"
    assert dict(user.files) == {
        PASSWD: USERS + b"\nada:x:1234:100::/home/ada:/bin/sh\n",
        GROUP: GROUPS + b"ada:x:100:\n",
    }


def test_a_name_that_the_image_has_for_another_user_is_not_taken() -> None:
    """Otherwise the name would lead to the other user's uid."""
    for name in ("app", "", "a:b", "a/b", "..", "new\nline:x:0:0::/:/bin/sh"):
        user = registered(Caller(uid=1234, gid=1000, name=name), USERS, GROUPS)
        assert user.home == "/home/user-1234"
        assert dict(user.files)[PASSWD].endswith(b"\nuser-1234:x:1234:1000::/home/user-1234:/bin/sh\n")


def test_an_image_without_lists_gets_them() -> None:
    user = registered(Caller(uid=0, gid=0, name="root"), b"", b"")
    assert dict(user.files) == {PASSWD: b"root:x:0:0::/home/root:/bin/sh\n", GROUP: b"root:x:0:\n"}
