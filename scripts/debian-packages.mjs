// A Debian or Ubuntu package for a user who may not install packages: apt-get fetches it and those of its
// dependencies that the system lacks, dpkg-deb unpacks them into a folder of ours. apt-get works on lists and
// archives of its own here, so that the system stays as it is; no installation script of a package is run.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

// Unpacks `name` into `folder` and puts a start script for each of `programs` into `bin`. False when that does
// not work. `run(command, args)` answers { code }.
export async function unpackDebianPackage({ name, programs, folder, bin, run }) {
  const unpacked = `${folder}.new` // renamed when whole: half of it must never look like all of it
  const work = mkdtempSync(join(tmpdir(), 'kinora-apt-'))
  const scripts = programs.map((program) => join(bin, program))
  const succeeds = async (command, args) => (await run(command, args)).code === 0
  let works = false
  try {
    for (const each of [folder, unpacked]) rmSync(each, { recursive: true, force: true })
    const archives = join(work, 'cache/archives')
    for (const each of [unpacked, bin, join(archives, 'partial'), join(work, 'state/lists/partial')])
      mkdirSync(each, { recursive: true })
    // One broken source among several makes `update` fail; the packages may be in the others.
    await run('apt-get', [...aptOptions(work), 'update'])
    const fetch = ['install', '--download-only', '--no-install-recommends', name]
    works = await succeeds('apt-get', [...aptOptions(work), ...fetch])
    for (const file of readdirSync(archives).filter((each) => each.endsWith('.deb')))
      works &&= await succeeds('dpkg-deb', ['-x', join(archives, file), unpacked])
    if (works) renameSync(unpacked, folder)
    if (works) writeFileSync(join(folder, 'fonts.conf'), FONTS)
    for (const script of works ? scripts : []) {
      writeFileSync(script, startScript(relative(bin, script), folder, relative(bin, folder)), {
        mode: 0o755,
      })
      works &&= await succeeds(script, ['-version'])
    }
    return works
  } finally {
    const leftovers = works ? [unpacked, work] : [unpacked, work, folder, ...scripts]
    for (const each of leftovers) rmSync(each, { recursive: true, force: true })
  }
}

function aptOptions(work) {
  const options = {
    'Dir::State': join(work, 'state'),
    'Dir::State::status': '/var/lib/dpkg/status', // only read: which dependencies the system has already
    'Dir::Cache': join(work, 'cache'),
    'Debug::NoLocking': 'true', // the locks are the system's; this user may not take them and need not
    'APT::Sandbox::User': 'root', // if run by root, apt would fetch as a user who cannot enter our folders
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '20',
    'Acquire::https::Timeout': '20',
  }
  return ['-qqy', ...Object.entries(options).flatMap(([key, value]) => ['-o', `${key}=${value}`])]
}

// Where the system has no fonts, those that came along as dependencies.
const FONTS = `<fontconfig>
  <dir prefix="relative">usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`

// Finds the folder from the script's own place, so that a checkout can be moved. `exec`, so that a signal to the
// script's process reaches the program.
function startScript(program, folder, fromBin) {
  const isLibrary = (file) => /^(usr\/)?lib\/.*\/lib[^/]+\.so[^/]*$/.test(file)
  const files = readdirSync(folder, { recursive: true }).filter(isLibrary)
  const libraries = [...new Set(files.map((file) => `$root/${dirname(file)}`))].sort()
  // Chromium in usr/bin is a script that looks for the browser in the system's folders.
  const inLib = join('usr/lib', program, program)
  return `#!/bin/sh
root="\${0%/*}/${fromBin}"
export LD_LIBRARY_PATH="${libraries.join(':')}"
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$root/fonts.conf"
exec "$root/${existsSync(join(folder, inLib)) ? inLib : join('usr/bin', program)}" "$@"
`
}
