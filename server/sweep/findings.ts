/** What a sweep found. `isRemoved` is false where it only reports. */
export type Finding =
  | { kind: 'orphans'; key: string; files: number; bytes: number; isRemoved: boolean }
  | { kind: 'upload'; key: string; isRemoved: boolean }
  | { kind: 'multipart upload'; key: string; isRemoved: boolean }
  | { kind: 'missing'; videoId: string; files: number; keys: string[] }

export type Sweep = {
  /** Otherwise it only reports. */
  removes: boolean
  /** Files that were written within this time are left alone. */
  graceMs: number
  report: (finding: Finding) => void
  /** Ends it between two videos or uploads. */
  signal?: AbortSignal
}

/** Findings are shown up to so many. */
const shown = 20

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
      if (keys.length < shown) keys.push(finding.key)
    },
  }
}
