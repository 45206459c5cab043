import { useMemo } from 'react'
import type { Environment } from '../api/client.ts'
import { useStore } from '../ui/store.ts'
import { UploadManager } from './manager.ts'
import type { Upload } from './types.ts'

export const uploads = new UploadManager()

/** The uploads of an environment, in the order in which they were added. */
export function useUploads(environment: Environment): readonly Upload[] {
  const all = useStore(uploads.all)
  return useMemo(() => all.filter((each) => each.environment === environment), [all, environment])
}
