import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

/**
 * Creates the folder and its missing parents. The option `recursive` of `mkdir` never returns in /proc, which says of a
 * folder that cannot be created that its parent is missing.
 */
export async function makeFolders(folder: string): Promise<void> {
  const found = await stat(folder).catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  if (found?.isDirectory()) return
  if (!found) await makeFolders(dirname(folder))
  await mkdir(folder).catch(async (error) => {
    // Another process may have created it.
    if (codeOf(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
  })
}
