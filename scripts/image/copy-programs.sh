#!/bin/sh
# Copies programs with the libraries that they need to a folder, for a stage of the Dockerfile: copy-programs.sh FOLDER
# The base image already has the packages in /base-packages.
set -eu
target=$1
programs='/usr/bin/ffmpeg /usr/bin/ffprobe /usr/bin/tini'
# Loaded by Postgres if the user of the container is not in /etc/passwd.
preloaded=$(dpkg -L libnss-wrapper | grep '/libnss_wrapper\.so$')

libraries=$(ldd $programs "$preloaded" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u)
for file in $programs $preloaded $libraries; do
  package=$(dpkg -S "$(readlink -f "$file")" | sed 's/:.*//')
  if grep -qxF "$(dpkg-query -W "$package")" /base-packages; then continue; fi
  # Libraries are found by these names, whether they are links or not. /lib is a link to /usr/lib.
  folder=$target$(readlink -f "$(dirname "$file")")
  mkdir -p "$folder" "$target/usr/share/doc/$package" "$target/var/lib/dpkg/status.d"
  cp -L "$file" "$folder"
  cp -L "/usr/share/doc/$package/copyright" "$target/usr/share/doc/$package"
  # Scanners read the versions of packages here, since the package manager of the image does not know them.
  dpkg-query -s "$package" > "$target/var/lib/dpkg/status.d/$package"
done
mkdir -p "$target/etc/ssl/certs"
cp /etc/ssl/certs/ca-certificates.crt "$target/etc/ssl/certs"
strip "$target/usr/local/bin/node"
