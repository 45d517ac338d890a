"""Paths in `/proc` and `/sys` that expose the host even to unprivileged users.

Source: the default lists of the Docker engine, https://github.com/moby/moby/blob/v26.1.0/oci/defaults.go
"""

from __future__ import annotations

HIDDEN = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/firmware",
    "/sys/fs/cgroup",
)
LOCKED = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
