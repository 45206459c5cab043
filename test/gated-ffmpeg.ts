import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type GatedFfmpeg = {
  /** The value for KINORA_FFMPEG. */
  path: string
  /** Calls that start at this time of the video or later wait. */
  encodeUntil(untilSeconds: number): Promise<void>
  encodeAll(): Promise<void>
  /** Calls with an argument that matches the shell pattern fail with this message until `repair` is called. */
  breakFor(pattern: string, message: string): Promise<void>
  repair(): Promise<void>
}

/** An ffmpeg whose progress the test controls, so that no test depends on the speed of the machine. */
export async function gatedFfmpeg(folder: string, program = 'ffmpeg'): Promise<GatedFfmpeg> {
  const [path, gate, fault] = ['ffmpeg', 'gate', 'fault'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await writeFile(
    path,
    `#!/bin/sh
test -e '${fault}' && . '${fault}'
for argument; do
  case "$before" in -ss | -output_ts_offset) from=\${argument%.*} ;; esac
  before=$argument
done
while limit=$(cat '${gate}' 2>/dev/null) && [ "\${from:-0}" -ge "$limit" ]; do sleep 0.2; done
exec ${program} "$@"
`,
  )
  await chmod(path, 0o755)
  const replaceFile = async (file: string, content: string) => {
    await writeFile(`${file}.new`, content)
    await rename(`${file}.new`, file)
  }
  return {
    path,
    encodeUntil: (untilSeconds) => replaceFile(gate, String(untilSeconds)),
    encodeAll: () => rm(gate, { force: true }),
    breakFor: (pattern, message) =>
      replaceFile(
        fault,
        `for argument; do case "$argument" in ${pattern}) echo '${message}' >&2; exit 1 ;; esac; done`,
      ),
    repair: () => rm(fault, { force: true }),
  }
}
