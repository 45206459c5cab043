import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Starting ffmpeg or ffprobe takes 0.1 s of CPU time, most of it spent on linking 200 libraries. These scripts stand in
// where a test does not look at the result, and run the real program for everything else.

/**
 * Returns a value of LD_PRELOAD with which the program starts in 60% of the time. The dynamic linker searches each of
 * 44,000 symbols in the libraries from first to last, so the libraries with the most symbols come first. Other linkers
 * than that of glibc print nothing here.
 */
function librariesFirst(program: string): string {
  const env = { ...process.env, LD_DEBUG: 'bindings' }
  const { stderr } = spawnSync(program, ['-version'], { env, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 })
  const counts = new Map<string, number>()
  for (const [, library = ''] of stderr.matchAll(/ to (\/[^\s:]+\.so[^\s:]*) \[0\]: normal symbol/g))
    counts.set(library, (counts.get(library) ?? 0) + 1)
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([library]) => library)
    .join(':')
}

/** Prints stored output for the calls that the service makes at every start. */
const startUp = (program: string, answers: Record<string, string>) =>
  Object.entries(answers)
    .map(([args, file]) => `case "$*" in '${args}') exec cat '${file}';; esac`)
    .concat(`LD_PRELOAD='${librariesFirst(program)}' exec '${program}' "$@"`)
    .join('\n')

/** Writes the same image for every thumbnail and sprite sheet. */
const thumbnails = (image: string, gray: string) => `for output; do :; done
case "$output" in
  */candidate.gray) exec cp '${gray}' "$output";;
  */thumbnail.jpg) exec cp '${image}' "$output";;
  */sheets/%d.jpg) exec cp '${image}' "\${output%/*}/0.jpg";;
esac`

/** Writes the scripts into the folder. Its subfolder `bin` belongs in front of PATH. */
export function writePrograms(folder: string): void {
  const ffmpeg = execFileSync('sh', ['-c', 'command -v ffmpeg'], { encoding: 'utf8' }).trim()
  const ffprobe = execFileSync('sh', ['-c', 'command -v ffprobe'], { encoding: 'utf8' }).trim()
  const file = (name: string) => join(folder, name)
  mkdirSync(file('bin'), { recursive: true })
  writeFileSync(file('filters'), execFileSync(ffmpeg, ['-hide_banner', '-filters'], { stdio: 'pipe' }))
  writeFileSync(file('version'), execFileSync(ffprobe, ['-version'], { stdio: 'pipe' }))
  const lavfi = ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=s=160x90', '-frames:v', '1']
  execFileSync(ffmpeg, [...lavfi, file('image.jpg')])
  const gray = Uint8Array.from({ length: 32 * 32 }, (_, i) => (i * 37) % 256)
  writeFileSync(file('gray'), gray)
  const start = startUp(ffmpeg, { '-hide_banner -filters': file('filters') })
  const probe = startUp(ffprobe, { '-version': file('version') })
  const scripts = {
    'bin/ffmpeg': start,
    'bin/ffprobe': probe,
    'ffmpeg-without-thumbnails': `${thumbnails(file('image.jpg'), file('gray'))}\n${start}`,
    'ffprobe-that-rejects': `test "$*" = -version || { echo "Invalid data found when processing input" >&2; exit 1; }\n${probe}`,
  }
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(file(name), `#!/bin/sh\n${script}\n`)
    chmodSync(file(name), 0o755)
  }
}

const folder = () => process.env.TEST_PROGRAMS ?? ''

/** Settings of a service whose thumbnails nobody looks at. */
export const withoutThumbnails = () => ({ KINORA_FFMPEG: join(folder(), 'ffmpeg-without-thumbnails') })

/** Settings of a service that gets uploads of random bytes: it rejects them as the real ffprobe does. */
export const withoutEncoding = () => ({ KINORA_FFPROBE: join(folder(), 'ffprobe-that-rejects') })
