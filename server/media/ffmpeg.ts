import { type ChildLimits, childLimits, watchedLimits } from './limits.ts'
import { MEDIA_USER, runSandboxed } from './sandbox.ts'

/** Where the two are found. */
export type Programs = { ffmpeg: string; ffprobe: string }

export type Tools = Programs & {
  /** Whether the filters that HDR needs are there. */
  canToneMap: boolean
  /** An ffmpeg that does nothing for so long hangs. */
  stallMs: number
}

type FfmpegOptions = {
  signal?: AbortSignal
  /** How many times as long it may get nowhere. */
  patience?: number
  /** For files of strangers: how much they may cost. */
  limits?: ChildLimits
}

/** Runs ffmpeg at the lowest priority, so that whoever asks the service something need not wait for it. */
export async function runFfmpeg(
  tools: Pick<Tools, 'ffmpeg' | 'stallMs'>,
  args: string[],
  { signal, patience = 1, limits = {} }: FfmpegOptions = {},
): Promise<void> {
  let seen = ''
  const [command = '', ...rest] = childLimits([tools.ffmpeg, '-progress', 'pipe:1', ...args], limits)
  await runSandboxed(command, rest, {
    ...(signal && { signal }),
    priority: 19,
    limits: { ...watchedLimits(limits), idleMs: tools.stallMs * patience },
    onStdout(text, reportProgress) {
      // Reports come also when nothing moves.
      const state = text.match(/^(?:frame|out_time_us|total_size)=.*$/gm)?.join() ?? ''
      if (state === seen) return
      seen = state
      reportProgress()
    },
  })
}

/** One helpful sentence about a program that cannot be used. */
export class ToolsProblem extends Error {}

const missing = (setting: string) => (error: Error) => {
  const [reason] = error.message.split('\n')
  if ((error.cause as NodeJS.ErrnoException | undefined)?.code === 'EACCES' && process.geteuid!() === 0)
    throw new ToolsProblem(
      `The program that ${setting} names may not be run by the user ${MEDIA_USER}, as which root runs it: ` +
        'put it where everybody may run it, or start Kinora as an ordinary user.',
      { cause: error },
    )
  throw new ToolsProblem(`The program that ${setting} names cannot be used: it ${reason}.`, { cause: error })
}

/** What this ffmpeg can do; asked once, at the start. */
export async function findTools(programs: {
  ffmpeg: string
  ffprobe: string
  stallMs: number
}): Promise<Tools> {
  const [{ stdout }] = await Promise.all([
    runSandboxed(programs.ffmpeg, ['-hide_banner', '-filters'], {}).catch(missing('KINORA_FFMPEG')),
    runSandboxed(programs.ffprobe, ['-version'], {}).catch(missing('KINORA_FFPROBE')),
  ])
  return { ...programs, canToneMap: /\bzscale\b/.test(stdout) && /\btonemap\b/.test(stdout) }
}
