import { chown, lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { RunError, type RunOptions, type RunResult, run } from '../lib/run.ts'
import type { SystemUser } from '../lib/system-user.ts'

/** Whom ffmpeg and ffprobe run as, and the folders they get to see. */
export type Sandbox = { user: SystemUser; files: string; work: string }

/** The user that root's ffmpegs run as. */
export const MEDIA_USER = 'kinora-media'

let sandbox: Sandbox | undefined

/**
 * Set once at the start, when we are root. Not passed from call to call: whatever reads the bytes of strangers runs in
 * it, and no caller can forget it.
 */
export function useSandbox(chosen: Sandbox | undefined): void {
  sandbox = chosen
}

/**
 * Like `run`, as a user who may read media files and write to the work folders in the arguments, and nothing else. Both
 * are inherited as open folders, because the folders above them may be closed to that user.
 */
export async function runSandboxed(
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  if (!sandbox) return run(command, args, options)
  const { user, files, work } = sandbox
  await using filesHandle = await open(files)
  await using workHandle = await open(work)
  const inherited = { [files]: 3, [work]: 4 }
  const folders = await workFoldersIn(args, work)
  for (const folder of folders) await give(folder, user)
  try {
    const paths = args.map((arg) => inheritedPath(arg, inherited))
    const descriptors = [filesHandle.fd, workHandle.fd]
    return await run(command, paths, { ...options, cwd: '/', user, descriptors })
  } finally {
    for (const folder of folders) await takeBack(folder, command)
  }
}

function inheritedPath(arg: string, inherited: Record<string, number>): string {
  for (const [folder, descriptor] of Object.entries(inherited))
    if (arg.startsWith(`${folder}/`)) return `/proc/self/fd/${descriptor}${arg.slice(folder.length)}`
  return arg
}

/** The folders of jobs, each with what is below it. */
async function workFoldersIn(args: readonly string[], work: string): Promise<string[]> {
  const jobs = args
    .filter((arg) => arg.startsWith(`${work}/`))
    .map((arg) => join(work, arg.slice(work.length + 1).split('/', 1)[0]!))
  const found: string[] = []
  for (const job of new Set(jobs)) {
    const entries = await readdir(job, { recursive: true, withFileTypes: true })
    const below = entries.filter((entry) => entry.isDirectory())
    found.push(job, ...below.map((entry) => join(entry.parentPath, entry.name)))
  }
  return found
}

const give = (folder: string, { uid, gid }: SystemUser) => chown(folder, uid, gid)

/**
 * A program that was taken over by the file it read may leave a link to a file of root's in place of its result, and we
 * would read and publish that. From now on nobody but root can change the folder.
 */
async function takeBack(folder: string, command: string): Promise<void> {
  await chown(folder, 0, process.getegid!())
  for (const name of await readdir(folder)) {
    const entry = await lstat(join(folder, name))
    if (!entry.isFile() && !entry.isDirectory())
      throw new RunError(`made ${name}, which is no file`, { command, exitCode: 0 })
  }
}
