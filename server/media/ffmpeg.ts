import { type ChildLimits, childLimits, watchedLimits } from './limits.ts'
import { MEDIA_USER, runSandboxed } from './sandbox.ts'

/** The paths or names of the two programs. */
export type Programs = { ffmpeg: string; ffprobe: string }

export type Tools = Programs & {
  /** Whether this ffmpeg has the filters for HDR. */
  canToneMap: boolean
  /** An ffmpeg without progress for this long is considered hung. */
  stallMs: number
}

/** As in nice(1). */
const lowestPriority = 19

type FfmpegOptions = {
  signal?: AbortSignal
  /** Multiplies the time that it may spend without progress. */
  stallFactor?: number
  /** Resource limits, for files from users. */
  limits?: ChildLimits
  /** From 0 (normal) to 19 (lowest), as in nice(1). Somebody waits for what is not at the lowest priority. */
  priority?: number
  /** Called about every `progressSeconds`. */
  onProgress?: () => void
  progressSeconds?: number
}

/** Runs ffmpeg at the lowest priority, so that it does not slow down requests, unless somebody waits for it. */
export async function runFfmpeg(
  tools: Pick<Tools, 'ffmpeg' | 'stallMs'>,
  args: string[],
  {
    signal,
    stallFactor = 1,
    limits = {},
    priority = lowestPriority,
    onProgress,
    progressSeconds = 0.1,
  }: FfmpegOptions = {},
): Promise<void> {
  let lastState = ''
  const progress = ['-progress', 'pipe:1', ...(onProgress ? ['-stats_period', String(progressSeconds)] : [])]
  const [command = '', ...rest] = childLimits([tools.ffmpeg, ...progress, ...args], limits)
  await runSandboxed(command, rest, {
    ...(signal && { signal }),
    ...(priority > 0 && { priority }),
    limits: { ...watchedLimits(limits), idleMs: tools.stallMs * stallFactor },
    onStdout(text, reportProgress) {
      // ffmpeg also reports when there is no progress.
      const state = text.match(/^(?:frame|out_time_us|total_size)=.*$/gm)?.join() ?? ''
      if (state === lastState) return
      lastState = state
      reportProgress()
      onProgress?.()
    },
  })
}

/** ffmpeg or ffprobe cannot be used. The message is shown to the operator. */
export class ToolsError extends Error {}

const rejectProgram = (setting: string) => (error: Error) => {
  const [reason] = error.message.split('\n')
  if ((error.cause as NodeJS.ErrnoException | undefined)?.code === 'EACCES' && process.geteuid!() === 0)
    throw new ToolsError(
      `The user ${MEDIA_USER}, as whom Kinora runs media programs if root starts it, may not run the program in ${setting}: ` +
        'make it executable for all users, or start Kinora as an ordinary user.',
      { cause: error },
    )
  throw new ToolsError(`The program in ${setting} cannot be used: it ${reason}.`, { cause: error })
}

/** Checks both programs and detects the features of this ffmpeg. Called once, at startup. */
export async function findTools(programs: {
  ffmpeg: string
  ffprobe: string
  stallMs: number
}): Promise<Tools> {
  const [{ stdout }] = await Promise.all([
    runSandboxed(programs.ffmpeg, ['-hide_banner', '-filters'], {}).catch(rejectProgram('KINORA_FFMPEG')),
    runSandboxed(programs.ffprobe, ['-version'], {}).catch(rejectProgram('KINORA_FFPROBE')),
  ])
  return { ...programs, canToneMap: /\bzscale\b/.test(stdout) && /\btonemap\b/.test(stdout) }
}
