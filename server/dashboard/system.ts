import { join } from 'node:path'
import { findLastBackup } from '../backups/store.ts'
import { certificateStatus } from '../certificates/status.ts'
import type { Context } from '../context.ts'
import { countSlots } from '../encoding/slots.ts'
import { CachedQuery } from '../lib/cached-query.ts'
import type { Disk } from '../lib/disk-space.ts'
import { isReachable } from '../lib/reachable.ts'
import { readVersion } from '../lib/version.ts'
import { segmentSeconds } from '../media/grid.ts'
import { runSandboxed } from '../media/sandbox.ts'
import { listProcesses } from '../processes/store.ts'
import type { OpenContext } from '../slice.ts'
import { findStored, type Stored } from '../storage/store.ts'
import { DiagnosisCache } from './diagnosis.ts'
import * as store from './system-store.ts'

type Deps = Pick<OpenContext, 'config' | 'db' | 'files' | 'log' | 'now' | 'publicUrl' | 'settings' | 'space'>

const version = readVersion()
const storageMs = 60_000

/** The state of the service, for the system page. */
export class System {
  readonly #deps: Deps
  readonly #storage: CachedQuery<Stored[]>
  readonly #diagnosis: DiagnosisCache
  #ffmpeg: Promise<string | null> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    this.#storage = new CachedQuery(() => findStored(deps.db), storageMs)
    this.#diagnosis = new DiagnosisCache(deps)
  }

  async view() {
    const { config, db, files, settings, space } = this.#deps
    const [
      postgres,
      ffmpeg,
      hasFiles,
      slots,
      queue,
      storage,
      failures,
      failingWebhooks,
      processes,
      backup,
      certificate,
    ] = await Promise.all([
      store.findPostgresVersion(db),
      this.#findFfmpeg(),
      isReachable(files.check()),
      countSlots(db),
      store.findQueue(db, segmentSeconds),
      this.#storage.read(),
      store.findFailures(db),
      store.findFailingWebhooks(db),
      listProcesses(db),
      findBackups(db),
      certificateStatus({ config, db }),
    ])
    return {
      version,
      node: process.version,
      ffmpeg,
      postgres,
      uptimeSeconds: Math.floor(process.uptime()),
      // Without the database, this response would be an error.
      health: { database: 'reachable', files: hasFiles ? 'reachable' : 'unreachable' },
      roles: [...config.roles],
      encodeSlots: { total: slots, busy: queue.running },
      queue,
      // Null while it is counted, which takes half a minute for a million videos.
      storage: storage ?? null,
      failures,
      failingWebhooks,
      processes,
      backup,
      certificate,
      diagnosis: this.#diagnosis.find(),
      disk: findDisk(config, space.disks),
      isDiskLow: space.isLow,
      settings,
    }
  }

  /** Null if this process has no ffmpeg, which it does not need without the roles worker and live. */
  #findFfmpeg(): Promise<string | null> {
    this.#ffmpeg ??= runSandboxed(this.#deps.config.ffmpeg, ['-version'], {}).then(
      ({ stdout }) => /^ffmpeg version (\S+)/.exec(stdout)?.[1] ?? null,
      () => null,
    )
    return this.#ffmpeg
  }
}

/** The last run that succeeded, and a later one that has failed. */
async function findBackups(db: Context['db']) {
  const [success, failure] = await Promise.all([findLastBackup(db), findLastBackup(db, { isFailed: true })])
  const isLater = failure && (!success || failure.started_at > success.started_at)
  return {
    last: success ? { at: success.started_at, destination: success.destination, bytes: success.bytes } : null,
    failure: isLater ? { at: failure.started_at, reason: failure.error } : null,
  }
}

/** The disk that the files are on. Null if they are in an S3 store, or if the disk does not answer. */
function findDisk({ dataDir, s3 }: Context['config'], disks: readonly Disk[]) {
  const disk = disks.find(({ folder }) => folder === join(dataDir, 'files')) ?? disks[0]
  return s3 || !disk ? null : { totalBytes: disk.totalBytes, freeBytes: disk.freeBytes }
}
