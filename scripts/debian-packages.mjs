// Unpacks a Debian or Ubuntu package for a user who cannot install packages. apt-get downloads the package and its
// missing dependencies, dpkg-deb unpacks them into a folder in node_modules. apt-get uses its own lists and archives
// here, so the system does not change, and no installation scripts run.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

// Unpacks `name` into `folder` and writes a start script for each of `programs` into `bin`. Returns false on failure.
// A program has its names, the first of which is that of the script, and the option that prints its version.
// `run(command, args)` resolves to { code }.
export async function unpackDebianPackage({ name, programs, folder, bin, run }) {
  const unpacked = `${folder}.new` // renamed when complete, so that a partial folder is never used
  const work = mkdtempSync(join(tmpdir(), 'kinora-apt-'))
  const scripts = programs.map(({ names }) => join(bin, names[0]))
  const succeeds = async (command, args) => (await run(command, args)).code === 0
  let works = false
  try {
    for (const each of [folder, unpacked]) rmSync(each, { recursive: true, force: true })
    const archives = join(work, 'cache/archives')
    for (const each of [unpacked, bin, join(archives, 'partial'), join(work, 'state/lists/partial')])
      mkdirSync(each, { recursive: true })
    // `update` fails if any source is broken; the package may still be available from another one.
    await run('apt-get', [...aptOptions(work), 'update'])
    const fetch = ['install', '--download-only', '--no-install-recommends', name]
    works = await succeeds('apt-get', [...aptOptions(work), ...fetch])
    for (const file of readdirSync(archives).filter((each) => each.endsWith('.deb')))
      works &&= await succeeds('dpkg-deb', ['-x', join(archives, file), unpacked])
    if (works) renameSync(unpacked, folder)
    if (works) writeFileSync(join(folder, 'fonts.conf'), FONTS)
    for (const { names, versionOption = '-version' } of works ? programs : []) {
      const script = join(bin, names[0])
      writeFileSync(script, startScript(names[0], folder, relative(bin, folder)), { mode: 0o755 })
      works &&= await succeeds(script, [versionOption])
    }
    return works
  } finally {
    const temporary = works ? [unpacked, work] : [unpacked, work, folder, ...scripts]
    for (const each of temporary) rmSync(each, { recursive: true, force: true })
  }
}

function aptOptions(work) {
  const options = {
    'Dir::State': join(work, 'state'),
    'Dir::State::status': '/var/lib/dpkg/status', // read only: the dependencies that the system already has
    'Dir::Cache': join(work, 'cache'),
    'Debug::NoLocking': 'true', // this user cannot take the system's locks and does not need them
    'APT::Sandbox::User': 'root', // otherwise apt run by root downloads as a user who cannot enter this folder
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '20',
    'Acquire::https::Timeout': '20',
  }
  return ['-qqy', ...Object.entries(options).flatMap(([key, value]) => ['-o', `${key}=${value}`])]
}

// Fonts from the unpacked dependencies, for systems without fonts.
const FONTS = `<fontconfig>
  <dir prefix="relative">usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`

// The paths are relative to the script, so that a checkout can be moved. `exec` makes signals reach the program.
function startScript(program, folder, fromBin) {
  const isLibrary = (file) => /^(usr\/)?lib\/.*\/lib[^/]+\.so[^/]*$/.test(file)
  const files = readdirSync(folder, { recursive: true }).filter(isLibrary)
  const libraries = [...new Set(files.map((file) => `$root/${dirname(file)}`))].sort()
  // Chromium in usr/bin is a script that searches the system folders, so the program in usr/lib is started directly.
  const inLib = join('usr/lib/chromium', program)
  return `#!/bin/sh
root="\${0%/*}/${fromBin}"
export LD_LIBRARY_PATH="${libraries.join(':')}"
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$root/fonts.conf"
exec "$root/${existsSync(join(folder, inLib)) ? inLib : join('usr/bin', program)}" "$@"
`
}
