import { command } from './command.ts'
import { UsageError } from './errors.ts'

const backup = {
  type: 'string',
  value: 'ID',
  meaning: 'Which backup, as "kinora backup list" shows it; the last one if not set',
} as const

/** The longer names come first, because `backup` matches all of them. */
export const backupCommands = [
  command({
    name: 'backup verify',
    summary: 'Read every byte of a backup and name damaged and missing files',
    operands: ['FOLDER'],
    options: { backup },
    details: ['The exit code is 1 if something is damaged or missing.'],
    examples: ['kinora backup verify /mnt/backups/kinora', 'kinora backup verify s3://backups/kinora'],
    json: 'one object for each problem: `{"kind": "missing" | "damaged", "path"}`, and at the end `{"backup", "files", "bytes", "problems"}`',
    async run({ operands: [folder], options, output }) {
      await (await import('./run-backups.ts')).verify(folder, options.backup, output)
    },
  }),
  command({
    name: 'backup list',
    summary: 'List the backups in a folder or bucket',
    operands: ['FOLDER'],
    options: {},
    details: ['The exit code is 1 if the manifest of a backup is damaged. The other files are not read.'],
    examples: ['kinora backup list /mnt/backups/kinora'],
    json: 'one object for each backup: `{"id", "version", "startedAt", "finishedAt", "files", "bytes"}`, or `{"id", "isDamaged"}` if its manifest has changed',
    async run({ operands: [folder], output }) {
      await (await import('./run-backups.ts')).list(folder, output)
    },
  }),
  command({
    name: 'backup',
    summary: 'Back up the database and the files while the service runs',
    operands: ['FOLDER'],
    options: {
      keep: {
        type: 'string',
        value: 'COUNT',
        meaning: 'Remove all but the newest COUNT backups, and the files that only they contain',
      },
      files: {
        type: 'boolean',
        meaning: 'Include the files of an S3 store; those of the data folder are always included',
      },
    },
    details: [
      'FOLDER can also be a bucket or a folder in it, such as s3://backups/kinora. Files that are already in it are not copied again. docs/backups.md has more.',
    ],
    examples: ['kinora backup /mnt/backups/kinora --keep 7', 'kinora backup s3://backups/kinora'],
    json: '`{"backup", "destination", "files", "bytes", "copiedFiles", "copiedBytes"}`',
    async run({ operands: [folder], options, output }) {
      const keep = options.keep === undefined ? undefined : readKeep(options.keep)
      await (await import('./run-backups.ts')).backUpTo(folder, { keep, files: options.files }, output)
    },
  }),
  command({
    name: 'restore',
    summary: 'Restore a backup into an empty installation',
    operands: ['FOLDER'],
    options: { backup },
    details: [
      'Stop the service first. The data folder or the database must be empty. The whole backup is verified before anything is written. If the restore is interrupted, run it again.',
    ],
    examples: ['kinora restore /mnt/backups/kinora', 'kinora restore s3://backups/kinora'],
    json: '`{"backup", "files", "bytes"}`',
    async run({ operands: [folder], options, output }) {
      await (await import('./run-restore.ts')).restoreFrom(folder, options.backup, output)
    },
  }),
]

function readKeep(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError('--keep must be a number from 1 to 99999.')
  return Number(text)
}
