"""A filter of system calls: what no program of a workspace needs, and what ways out begin with.

New namespaces and mounts (memory that isn't counted), other processes' memory, kernel keys, BPF,
io_uring and the like answer with "not permitted". It is classic BPF as the kernel takes it.
"""

from __future__ import annotations

import platform
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in what a filter is given."""
_ALLOW, _KILL, _NOT_PERMITTED, _UNKNOWN = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_OTHER_ABI = 0x40000000  # numbers of x32, under which the same calls have other names

# unshare, setns, keyctl, add_key, request_key, bpf, perf_event_open, userfaultfd, io_uring_setup,
# mount, umount2, pivot_root, ptrace, kexec_load, init_module, finit_module, open_by_handle_at,
# process_vm_readv, process_vm_writev; the new calls of mounts have one number everywhere.
_NEW_MOUNTS = (428, 429, 430, 431, 432, 433, 442)
_DENIED = {
    "x86_64": (272, 308, 250, 248, 249, 321, 298, 323, 425, 165, 166, 155, 101, 246, 175, 313, 304,
               310, 311, *_NEW_MOUNTS),
    "aarch64": (97, 268, 219, 217, 218, 280, 241, 282, 425, 40, 39, 41, 117, 104, 105, 273, 265,
                270, 271, *_NEW_MOUNTS),
}  # fmt: skip
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def program(machine: str = "") -> bytes:
    """The filter for this machine, or nothing for one that isn't known."""
    machine = machine or platform.machine()
    if machine not in _DENIED:
        return b""
    denied = _DENIED[machine]
    # What comes after the checks, by its distance from the end: five steps and four answers.
    steps: list[tuple[int, str, str, int]] = [
        (_LOAD, "", "", _ARCHITECTURE),
        (_EQUAL, "", "kill", _AUDIT[machine]),
        (_LOAD, "", "", _NUMBER),
        (_AT_LEAST, "deny", "", _OTHER_ABI),
        *((_EQUAL, "deny", "", number) for number in denied),
        (_EQUAL, "unknown", "", _CLONE3),  # its flags are in memory; libraries fall back to clone
        (_EQUAL, "", "allow", _CLONE[machine]),
        (_LOAD, "", "", _FIRST_ARGUMENT),
        (_ANY_BIT, "deny", "allow", _NAMESPACES),
    ]
    answers = {"allow": _ALLOW, "deny": _NOT_PERMITTED, "unknown": _UNKNOWN, "kill": _KILL}
    places = {name: len(steps) + place for place, name in enumerate(answers)}
    code = b""
    for at, (operation, yes, no, value) in enumerate(steps):
        jumps = (places[name] - at - 1 if name else 0 for name in (yes, no))
        code += struct.pack("=HBBI", operation, *jumps, value)
    for answer in answers.values():
        code += struct.pack("=HBBI", _RETURN, 0, 0, answer)
    return code
