/**
 * An upload belongs to the tab that sends it. Another tab must neither show nor continue it. Browsers have locks only
 * on https and localhost; elsewhere they also have no handles of files, so no tab continues an upload by itself.
 */
export function own(id: string): Promise<(() => void) | undefined> {
  if (!navigator.locks) return Promise.resolve(() => {})
  return new Promise((resolve) => {
    void navigator.locks.request(`kinora-upload-${id}`, { ifAvailable: true }, (lock) => {
      if (!lock) return resolve(undefined)
      // The lock is held until the promise resolves.
      return new Promise<void>((release) => resolve(release))
    })
  })
}
