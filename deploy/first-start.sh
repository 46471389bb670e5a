#!/bin/sh
# Make the secrets and the empty files of settings that docker-compose.yml names. What is there already stays.
# Run in the folder of docker-compose.yml: sh deploy/first-start.sh
set -eu
umask 022
mkdir -p secrets
chmod 700 secrets

random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
make() { [ -s "secrets/$1" ] || printf '%s' "$2" > "secrets/$1"; }

make postgres-password "$(random 24)"
make redis-password "$(random 24)"
make flower-login "afterturn:$(random 16)"
make grafana-password "$(random 16)"
make metrics-token "$(random 24)"
make first-key "aft_$(random 6)_$(random 32)"
[ -e secrets/text-keys ] || : > secrets/text-keys

for file in afterturn.env api.env models.env; do
  [ -e "$file" ] || : > "$file"
done
echo "The key of the API is in secrets/first-key. Next: docker compose up --detach --build"
