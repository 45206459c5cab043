import { join } from 'node:path'
import { checkHandle, checkKey } from './files.ts'

/** Uploads and all incomplete files are below `.uploads`. No key can begin with a dot. */
export class DiskPaths {
  readonly root: string
  readonly uploads: string

  constructor(root: string) {
    this.root = root
    this.uploads = join(root, '.uploads')
  }

  pathOf(key: string): string {
    return join(this.root, checkKey(key))
  }

  folderOf(handle: string): string {
    return join(this.uploads, checkHandle(handle))
  }
}
