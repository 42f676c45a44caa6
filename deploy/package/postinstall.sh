#!/bin/sh
# After installation and upgrade, by dpkg or rpm. The service is not started: the first start creates the administrator, and
# the settings come before that. One that runs is restarted with the new version.
set -e
systemd-sysusers regwarden.conf
systemd-tmpfiles --create regwarden.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart regwarden.service
fi
