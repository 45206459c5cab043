import { defineCounter } from '../lib/metrics.ts'

const count = (name: string, help: string) => defineCounter({ name, help, labels: {} })

export const sweepMetrics = {
  files: count('kinora_sweep_files_total', 'Orphaned files removed by the sweep'),
  bytes: count('kinora_sweep_bytes_total', 'Bytes of the files removed by the sweep'),
  uploads: count('kinora_sweep_uploads_total', 'Incomplete uploads without an owner, removed by the sweep'),
  multipartUploads: count('kinora_sweep_multipart_uploads_total', 'Multipart uploads aborted by the sweep'),
  missing: count(
    'kinora_sweep_missing_files_total',
    'Files that the database refers to but the sweep did not find, counted on every run',
  ),
}
