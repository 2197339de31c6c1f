#!/bin/sh
set -e
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  chown -R redis:redis /data
  exec setpriv --reuid redis --regid redis --init-groups "$@" --protected-mode no
fi
exec "$@"
