import type { Progress } from '../backups/progress.ts'

const everyMs = 500

/** Shows how far a command is, on a terminal only. */
export function showProgress(verb: string) {
  const isShown = process.stderr.isTTY === true
  let shownAt = 0
  return {
    update({ files, copiedBytes }: Progress): void {
      if (!isShown || Date.now() - shownAt < everyMs) return
      shownAt = Date.now()
      process.stderr.write(`\r\x1b[K${files} files, ${formatBytes(copiedBytes)} ${verb}`)
    },
    end(): void {
      if (shownAt > 0) process.stderr.write('\r\x1b[K')
      shownAt = 0
    },
  }
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1_000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3))
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1_000 ** power).toFixed(1)} ${units[power]}`
}
