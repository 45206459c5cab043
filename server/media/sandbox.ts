import { chown, lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type PipedOptions, type PipedProcess, startPiped } from '../lib/piped-process.ts'
import { RunError, type RunOptions, type RunResult, run } from '../lib/run.ts'
import type { SystemUser } from '../lib/system-user.ts'

/** The user that ffmpeg and ffprobe run as, and the folders that they can access. */
export type Sandbox = { user: SystemUser; files: string; work: string }

/** The user that ffmpeg runs as if the service runs as root. */
export const MEDIA_USER = 'kinora-media'

let sandbox: Sandbox | undefined

/**
 * Set once at startup if the service runs as root. It is not a parameter, so that no caller can forget it: every program
 * that reads files from users runs in it.
 */
export function useSandbox(chosen: Sandbox | undefined): void {
  sandbox = chosen
}

/** The programs that run now: on files, and on live broadcasts. */
export const runningPrograms = { file: 0, live: 0 }

/** Runs in the sandbox, if there is one. */
export async function runSandboxed(
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  runningPrograms.file++
  try {
    return await (sandbox ? runIn(sandbox, command, args, options) : run(command, args, options))
  } finally {
    runningPrograms.file--
  }
}

/**
 * Like `run`, but as a user who can only read media files and write to the work folders in the arguments. The process
 * inherits both as open descriptors, because that user may have no access to their parent folders.
 */
async function runIn(
  { user, files, work }: Sandbox,
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  await using filesHandle = await open(files)
  await using workHandle = await open(work)
  const inherited = { [files]: 3, [work]: 4 }
  const folders = await workFoldersIn(args, work)
  for (const folder of folders) await chown(folder, user.uid, user.gid)
  try {
    const paths = args.map((arg) => inheritedPath(arg, inherited))
    const descriptors = [filesHandle.fd, workHandle.fd]
    return await run(command, paths, { ...options, cwd: '/', user, descriptors })
  } finally {
    for (const folder of folders) await reclaim(folder, command)
  }
}

/** Like `startPiped`, but as a user who cannot read the files of the service. */
export function startSandboxed(
  command: string,
  args: readonly string[],
  options: PipedOptions,
): PipedProcess {
  const started = startPiped(command, args, sandbox ? { ...options, cwd: '/', user: sandbox.user } : options)
  runningPrograms.live++
  void started.ended.then(() => {
    runningPrograms.live--
  })
  return started
}

function inheritedPath(arg: string, inherited: Record<string, number>): string {
  for (const [folder, descriptor] of Object.entries(inherited))
    if (arg.startsWith(`${folder}/`)) return `/proc/self/fd/${descriptor}${arg.slice(folder.length)}`
  return arg
}

/** The work folders in the arguments, with all their subfolders. */
async function workFoldersIn(args: readonly string[], work: string): Promise<string[]> {
  const roots = args
    .filter((arg) => arg.startsWith(`${work}/`))
    .map((arg) => join(work, arg.slice(work.length + 1).split('/', 1)[0]!))
  const found: string[] = []
  for (const root of new Set(roots)) {
    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    const subfolders = entries.filter((entry) => entry.isDirectory())
    found.push(root, ...subfolders.map((entry) => join(entry.parentPath, entry.name)))
  }
  return found
}

/**
 * Makes root the owner again, so that nobody else can change the folder. A malicious file may have taken control of the
 * program and left a link to a file of root instead of its output. Without this check, we would publish that file.
 */
async function reclaim(folder: string, command: string): Promise<void> {
  await chown(folder, 0, process.getegid!())
  for (const name of await readdir(folder)) {
    const entry = await lstat(join(folder, name))
    if (!entry.isFile() && !entry.isDirectory())
      throw new RunError(`made ${name}, which is not a file`, { command, exitCode: 0 })
  }
}
