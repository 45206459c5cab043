import { useMemo, useSyncExternalStore } from 'react'
import type { Environment } from '../api/client.ts'
import { UploadManager } from './manager.ts'
import type { Upload } from './types.ts'

export const uploads = new UploadManager()

/** The uploads of an environment, in the order in which they were added. */
export function useUploads(environment: Environment): readonly Upload[] {
  const all = useSyncExternalStore(uploads.subscribe, uploads.read)
  return useMemo(() => all.filter((each) => each.environment === environment), [all, environment])
}
