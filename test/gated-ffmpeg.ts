import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type GatedFfmpeg = {
  /** For KINORA_FFMPEG. */
  path: string
  /** What begins as late in its video as this, or later, waits from now on. */
  encodeUntil(untilSeconds: number): Promise<void>
  encodeAll(): Promise<void>
  /** From now on it fails with this message when an argument matches the pattern of a shell, until it is repaired. */
  breakFor(pattern: string, message: string): Promise<void>
  repair(): Promise<void>
}

/** An ffmpeg that encodes as far as a test lets it, so that nothing depends on how quick the machine is. */
export async function gatedFfmpeg(folder: string): Promise<GatedFfmpeg> {
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
while limit=$(cat '${gate}' 2>/dev/null) && [ "\${from:-0}" -ge "$limit" ]; do sleep 0.05; done
exec ffmpeg "$@"
`,
  )
  await chmod(path, 0o755)
  const put = async (file: string, content: string) => {
    await writeFile(`${file}.new`, content)
    await rename(`${file}.new`, file)
  }
  return {
    path,
    encodeUntil: (untilSeconds) => put(gate, String(untilSeconds)),
    encodeAll: () => rm(gate, { force: true }),
    breakFor: (pattern, message) =>
      put(
        fault,
        `for argument; do case "$argument" in ${pattern}) echo '${message}' >&2; exit 1 ;; esac; done`,
      ),
    repair: () => rm(fault, { force: true }),
  }
}
