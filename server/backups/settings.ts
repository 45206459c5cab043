import { optional, type ReadValues, setting, text, url } from '../lib/settings.ts'

export const backupsSettings = {
  backupS3Endpoint: setting({
    name: 'KINORA_BACKUP_S3_ENDPOINT',
    default: '',
    meaning:
      'URL of the S3-compatible store for `kinora backup s3://…`. If not set: KINORA_S3_ENDPOINT. See docs/backups.md.',
    read: optional(url('http:', 'https:')),
  }),
  backupS3Region: setting({
    name: 'KINORA_BACKUP_S3_REGION',
    default: '',
    meaning: 'Region of the bucket for backups. If not set: KINORA_S3_REGION.',
    read: optional(text),
  }),
  backupS3AccessKey: setting({
    name: 'KINORA_BACKUP_S3_ACCESS_KEY',
    default: '',
    meaning: 'Access key of the store for backups. If not set: KINORA_S3_ACCESS_KEY.',
    read: optional(text),
  }),
  backupS3SecretKey: setting({
    name: 'KINORA_BACKUP_S3_SECRET_KEY',
    default: '',
    meaning: 'Secret key of the store for backups. If not set: KINORA_S3_SECRET_KEY.',
    read: optional(text),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof backupsSettings> {}
}
