#!/bin/sh
# Prepares the package in the current folder for a read-only file system. The Dockerfile runs it.
set -eu

# Nothing that a running service reads.
find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.a' \) -delete
rm -f package-lock.json .npmrc
chmod 755 bin/kinora.mjs

# The embedded Postgres needs links between its libraries, which npm packages cannot contain.
node -e "
  const { findPackage, prepareBinaries } = await import('./server/lib/postgres/binaries.ts')
  await prepareBinaries(findPackage(), '/nonexistent')
"

# Compiled modules, for a faster start. The cache is valid for one user, and the user of the image cannot write it.
mkdir -p node_modules/.cache/compiled
chown 10001 node_modules/.cache/compiled
setpriv --reuid=10001 --regid=10001 --clear-groups node -e "
  require('node:module').enableCompileCache('node_modules/.cache/compiled')
  Promise.all([import('./server/main.ts'), import('./server/cli/main.ts')]).then(() => process.exit())
"
chown -R 0:0 node_modules/.cache
chmod -R a+rX node_modules/.cache
