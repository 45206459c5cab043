import type { Environment } from '../api/client.ts'
import type { WatermarkInput } from '../api/watermarks.ts'
import { SpeedMeter } from './speed.ts'
import type { StopTransfer } from './transfer-types.ts'
import type { PickedFile, StoredUpload, Upload } from './types.ts'

/** An upload together with what the manager needs to run it. */
export type Entry = {
  /** Replaced by a new object whenever it changes. */
  view: Upload
  addedAt: number
  file: File | undefined
  handle: FileSystemFileHandle | undefined
  url: string | undefined
  meter: SpeedMeter
  stop: StopTransfer | undefined
  /** Increases with every start, so that an earlier start notices that it was replaced. */
  run: number
  failures: number
  retryTimer: ReturnType<typeof setTimeout> | undefined
  release: () => void
}

/** `crypto.randomUUID` exists only on https and localhost. */
const createId = () =>
  [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

const base = {
  sent: 0,
  bytesPerSecond: undefined,
  secondsLeft: undefined,
  encoded: undefined,
  isPlayable: false,
  canRetry: true,
} as const
const idle = { stop: undefined, run: 0, failures: 0, retryTimer: undefined, release: () => {} } as const

export type UploadOptions = {
  /** An empty video that gets the file. Without it, a video is created, perhaps with a watermark. */
  target?: string | undefined
  watermark?: WatermarkInput | undefined
}

export function newEntry(
  environment: Environment,
  { file, handle }: PickedFile,
  { problem, target, watermark }: UploadOptions & { problem?: string | undefined } = {},
): Entry {
  const view: Upload = {
    ...base,
    id: createId(),
    environment,
    name: file.name,
    size: file.size,
    modifiedAt: file.lastModified,
    state: problem ? 'failed' : 'waiting',
    videoId: target,
    target,
    watermark,
    needs: undefined,
    message: problem,
    canRetry: !problem,
  }
  return { ...idle, view, addedAt: Date.now(), file, handle, url: undefined, meter: new SpeedMeter() }
}

/** An upload that began before the page was loaded. */
export async function restoredEntry(stored: StoredUpload): Promise<Entry> {
  const { addedAt, isPaused, url, handle, ...facts } = stored
  const access = handle && (await readAccess(handle, facts))
  const file = access instanceof File ? access : undefined
  const view: Upload = {
    ...base,
    ...facts,
    state: isPaused ? 'paused' : file ? 'waiting' : 'interrupted',
    needs: file ? undefined : access === 'permission' ? 'permission' : 'file',
    message: undefined,
  }
  return { ...idle, view, addedAt, file, handle, url, meter: new SpeedMeter() }
}

type FileFacts = Pick<Upload, 'name' | 'size' | 'modifiedAt'>
type PermissionHandle = FileSystemFileHandle & {
  queryPermission(options: object): Promise<PermissionState>
  requestPermission(options: object): Promise<PermissionState>
}

async function readAccess(
  handle: FileSystemFileHandle,
  facts: FileFacts,
): Promise<File | 'permission' | undefined> {
  try {
    const state = await (handle as PermissionHandle).queryPermission({ mode: 'read' })
    if (state === 'prompt') return 'permission'
    const file = state === 'granted' ? await handle.getFile() : undefined
    return file && isSameFile(file, facts) ? file : undefined
  } catch {
    // It was moved or deleted.
    return undefined
  }
}

/** Asks the user. Undefined if the answer is no, or if the file is not the same any more. */
export async function requestFile(handle: FileSystemFileHandle, facts: FileFacts): Promise<File | undefined> {
  try {
    const state = await (handle as PermissionHandle).requestPermission({ mode: 'read' })
    const file = state === 'granted' ? await handle.getFile() : undefined
    return file && isSameFile(file, facts) ? file : undefined
  } catch {
    return undefined
  }
}

/** Bytes of a different file would damage the video. */
export const isSameFile = (file: File, { name, size, modifiedAt }: FileFacts) =>
  file.name === name && file.size === size && file.lastModified === modifiedAt

export const storedEntry = ({ view, addedAt, handle, url }: Entry): StoredUpload => {
  const { id, environment, name, size, modifiedAt, videoId, target, watermark, state } = view
  return {
    id,
    environment,
    name,
    size,
    modifiedAt,
    videoId,
    target,
    watermark,
    addedAt,
    isPaused: state === 'paused',
    url,
    handle,
  }
}
