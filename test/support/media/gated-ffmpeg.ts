import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type GatedFfmpeg = {
  /** The value for KINORA_FFMPEG. */
  path: string
  /** Calls write only the segments that begin before this time of the video, and wait. */
  encodeUntil(untilSeconds: number): Promise<void>
  encodeAll(): Promise<void>
  /** Calls with an argument that matches the shell pattern fail with this message until `repair` is called. */
  breakFor(pattern: string, message: string): Promise<void>
  repair(): Promise<void>
}

/**
 * An ffmpeg whose progress the test controls, so that no test depends on the speed of the machine. `program` is what it
 * runs.
 */
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
outputs=0
for argument; do
  case "$before" in
    -ss) from=\${argument%.*} ;;
    -output_ts_offset) from=\${argument%.*} offset=$argument ;;
    -force_key_frames) starts=$argument ;;
  esac
  case "$argument" in */*p.mp4) output=$argument outputs=$((outputs + 1)) ;; esac
  before=$argument
done
limit() { { read -r limit <'${gate}'; } 2>/dev/null || limit=1000000; }
limit
while [ "\${from:-0}" -ge "$limit" ]; do sleep 0.2; limit; done
# Only video of one quality is written in parts.
if [ "$limit" = 1000000 ] || [ "$outputs" != 1 ]; then exec '${program}' "$@"; fi
all=$output.all
for argument; do
  shift
  if [ "$argument" = "$output" ]; then argument=$all; fi
  set -- "$@" "$argument"
done
'${program}' "$@" || exit $?
size=$(wc -c <"$all")
written=0
turn=0
while [ "$written" -lt "$size" ]; do
  limit
  # Key frames are forced a little before the segment begins.
  segments=$(echo "$starts" | tr , '\\n' | awk -v offset="$offset" -v limit="$limit" '$1 + offset + 0.1 < limit' | wc -l)
  end=$(grep -abo moof "$all" | sed -n "$((segments + 1))s/:.*//p")
  end=$((\${end:-$((size + 4))} - 4))
  tail -c "+$((written + 1))" "$all" | head -c "$((end - written))" >>"$output"
  written=$end
  turn=$((turn + 1))
  echo "frame=$turn"
  sleep 0.1
done
`,
  )
  await chmod(path, 0o755)
  const replaceFile = async (file: string, content: string) => {
    await writeFile(`${file}.new`, content)
    await rename(`${file}.new`, file)
  }
  return {
    path,
    encodeUntil: (untilSeconds) => replaceFile(gate, `${untilSeconds}\n`),
    encodeAll: () => rm(gate, { force: true }),
    breakFor: (pattern, message) =>
      replaceFile(
        fault,
        `for argument; do case "$argument" in ${pattern}) echo '${message}' >&2; exit 1 ;; esac; done`,
      ),
    repair: () => rm(fault, { force: true }),
  }
}
