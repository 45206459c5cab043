/** A sentence about why a backup or a restore does not work. */
export class BackupError extends Error {}
