import type { PickedFile } from './types.ts'

/** What was dropped: files, and the names of folders. */
export type Drop = { files: PickedFile[]; folders: string[] }

type HandleItem = DataTransferItem & { getAsFileSystemHandle?(): Promise<FileSystemHandle | null> }

/** Has to be called while the event is handled: the browser forgets the items afterwards. */
export async function readDrop(transfer: DataTransfer): Promise<Drop> {
  const items = [...transfer.items].filter(({ kind }) => kind === 'file') as HandleItem[]
  const read = items.map((item) => ({
    file: item.getAsFile(),
    isFolder: item.webkitGetAsEntry()?.isDirectory ?? false,
    handle: item.getAsFileSystemHandle?.().catch(() => null),
  }))
  const drop: Drop = { files: [], folders: [] }
  for (const { file, isFolder, handle } of read) {
    if (!file) continue
    if (isFolder) drop.folders.push(file.name)
    else drop.files.push({ file, handle: fileHandle(await handle) })
  }
  return drop
}

const fileHandle = (handle: FileSystemHandle | null | undefined) =>
  handle?.kind === 'file' ? (handle as FileSystemFileHandle) : undefined

type Picker = (options: object) => Promise<FileSystemFileHandle[]>

/** Lets the user choose files. Empty if nothing was chosen. */
export async function pickFiles({ multiple = true } = {}): Promise<PickedFile[]> {
  const { showOpenFilePicker } = window as { showOpenFilePicker?: Picker }
  if (!showOpenFilePicker) return pickByInput(multiple)
  try {
    const handles = await showOpenFilePicker.call(window, { multiple })
    return await Promise.all(handles.map(async (handle) => ({ file: await handle.getFile(), handle })))
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return []
    return pickByInput(multiple)
  }
}

function pickByInput(multiple: boolean): Promise<PickedFile[]> {
  return new Promise((resolve) => {
    const input = document.createElement('input')
    input.type = 'file'
    input.multiple = multiple
    input.addEventListener('change', () => resolve([...(input.files ?? [])].map((file) => ({ file }))))
    input.addEventListener('cancel', () => resolve([]))
    input.click()
  })
}
