#!/bin/sh
# Makes every password of a deployment when it is first needed, and from them what each part is told, in a folder of its own.
# Again at any time: passwords stay, the rest is written anew.
#   sh deploy/secrets.sh <folder>
#   REDIS_AT     where Redis is: redis://redis:6379
#   POSTGRES_AT  where PostgreSQL is: postgres:5432/millrace
#   OWNER        whose the apps' folders become, such as 65532:65532; nothing changes hands unless given
set -eu
umask 077
into=$1
here=$(dirname "$0")
redis_at=${REDIS_AT:-redis://redis:6379}
postgres_at=${POSTGRES_AT:-postgres:5432/millrace}
apps='producer batcher outbox-publisher analyzer dlq-admin millrace'

password() {
  if [ ! -s "$into/passwords/$1" ]; then
    LC_ALL=C tr -dc 0-9a-f < /dev/urandom | head -c 48 > "$into/passwords/$1.new"
    mv "$into/passwords/$1.new" "$into/passwords/$1"
  fi
  cat "$into/passwords/$1"
}

role() {
  case $1 in
    outbox-publisher) echo millrace_publisher ;;
    dlq-admin) echo millrace_dlq ;;
    millrace) echo millrace_app ;;
    *) echo "millrace_$1" ;;
  esac
}

# Text that others may read while it is written, or half of it, is of no use to them: it is moved into place.
put() {
  cat > "$into/$1.new"
  chmod 400 "$into/$1.new"
  mv -f "$into/$1.new" "$into/$1"
}

for part in passwords redis postgres migrate $apps; do mkdir -p "$into/$part"; done

for app in $apps; do
  printf '%s//%s:%s@%s' "${redis_at%%//*}" "$app" "$(password "redis-$app")" "${redis_at#*//}" | put "$app/REDIS_URL"
  printf 'postgres://%s:%s@%s' "$(role "$app")" "$(password "postgres-$app")" "$postgres_at" | put "$app/DATABASE_URL"
done
printf 'postgres://millrace_owner:%s@%s' "$(password postgres-owner)" "$postgres_at" | put migrate/DATABASE_URL
password dlq-admin-key | put dlq-admin/ADMIN_KEY

rules=
for user in $apps replica sentinel operator; do
  rules="$rules;s/<$user>/$(printf %s "$(password "redis-$user")" | sha256sum | cut -d' ' -f1)/"
done
sed "$rules" "$here/redis/users.acl" | put redis/users.acl
password redis-sentinel | put redis/sentinel
put redis/redis.conf <<END
aclfile /secrets/users.acl
masteruser replica
masterauth $(password redis-replica)
END

password postgres | put postgres/POSTGRES_PASSWORD
{
  cat "$here/postgres/roles.sql"
  echo "ALTER ROLE millrace_owner LOGIN PASSWORD '$(password postgres-owner)';"
  for app in $apps; do echo "ALTER ROLE $(role "$app") LOGIN PASSWORD '$(password "postgres-$app")';"; done
} | put postgres/init.sql

if [ -n "${OWNER:-}" ]; then
  for part in migrate $apps; do chown -R "$OWNER" "$into/$part"; done
  # These two are volumes that only Redis and PostgreSQL mount, as users that differ from image to image.
  chmod 755 "$into/redis" "$into/postgres"
  chmod 444 "$into"/redis/* "$into"/postgres/*
fi
