#!/bin/sh
# Before removal, by dpkg ("remove") or rpm (0). Data and user stay: the registries are encrypted with the key in the data directory.
set -e
case "${1:-}" in remove | 0)
	[ ! -d /run/systemd/system ] || systemctl disable --now regwarden.service
	;;
esac
