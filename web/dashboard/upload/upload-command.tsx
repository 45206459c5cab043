import { useCallback } from 'react'
import type { Environment } from '../api/client.ts'
import { useCommand } from '../app/commands.ts'
import { useEnvironment } from '../app/environment.ts'
import { texts } from '../texts/texts.ts'
import { pickFiles } from './picked-files.ts'
import { uploads } from './uploads.ts'

/** Lets the user choose files and uploads them. */
export const pickUploads = async (environment: Environment) =>
  uploads.addFiles(environment, await pickFiles())

/** The key u uploads on every view. */
export function UploadCommand() {
  const environment = useEnvironment()
  const run = useCallback(() => void pickUploads(environment), [environment])
  useCommand({ id: 'upload', label: texts.shortcuts.upload, key: 'u', run })
  return null
}
