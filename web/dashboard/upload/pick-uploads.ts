import type { Environment } from '../api/client.ts'
import type { UploadOptions } from './entry.ts'
import { pickFiles } from './picked-files.ts'
import { uploads } from './uploads.ts'

/** Lets the user choose files and uploads them. */
export const pickUploads = async (environment: Environment, options: UploadOptions = {}) =>
  uploads.addFiles(environment, await pickFiles(), options)
