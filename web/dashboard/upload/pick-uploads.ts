import type { Environment } from '../api/client.ts'
import { pickFiles } from './picked-files.ts'
import { uploads } from './uploads.ts'

/** Lets the user choose files and uploads them. */
export const pickUploads = async (environment: Environment) =>
  uploads.addFiles(environment, await pickFiles())
