/** Something that a sweep found. `isRemoved` is false if the sweep only reports. */
export type Finding =
  | { kind: 'orphans'; key: string; files: number; bytes: number; isRemoved: boolean }
  | { kind: 'upload'; key: string; isRemoved: boolean }
  | { kind: 'multipart upload'; key: string; isRemoved: boolean }
  | { kind: 'missing'; videoId: string; files: number; keys: string[] }

export type Sweep = {
  /** If false, the sweep only reports. */
  removes: boolean
  /** Files that were written within this time are kept. */
  graceMs: number
  report: (finding: Finding) => void
  /** Stops the sweep between two videos or uploads. */
  signal?: AbortSignal
}

/** The maximum number of keys in the log. */
const maxKeys = 20

/** Adds up the findings of a run. */
export function countFindings() {
  const counts = { files: 0, bytes: 0, uploads: 0, multipartUploads: 0, missing: 0 }
  const keys: string[] = []
  return {
    counts,
    keys,
    report(finding: Finding) {
      if (finding.kind === 'missing') {
        counts.missing += finding.files
        return
      }
      if (finding.kind === 'orphans') {
        counts.files += finding.files
        counts.bytes += finding.bytes
      } else if (finding.kind === 'upload') counts.uploads++
      else counts.multipartUploads++
      if (keys.length < maxKeys) keys.push(finding.key)
    },
  }
}
