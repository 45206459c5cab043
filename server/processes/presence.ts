import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Context } from '../context.ts'
import { readVersion } from '../lib/version.ts'
import { measureClockOffset } from './clock.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'log' | 'now'>

/** The column is an integer, and a clock can be years off. */
const maxOffsetMs = 2 ** 31 - 1

/** Announces this process to the others until it is closed. */
export class Presence {
  readonly #deps: Deps
  readonly #row: Parameters<typeof store.recordProcess>[1]
  readonly #timer: NodeJS.Timeout
  #isRecording = false
  #recording: Promise<void>

  constructor(deps: Deps) {
    const { roles, encodeSlots } = deps.config
    this.#deps = deps
    this.#row = {
      id: randomUUID(),
      host: hostname(),
      pid: process.pid,
      version: readVersion(),
      roles: [...roles],
      encodeSlots: roles.has('worker') ? encodeSlots : 0,
      startedAt: new Date(deps.now().getTime() - process.uptime() * 1_000),
    }
    this.#recording = this.#record()
    this.#timer = setInterval(() => {
      if (!this.#isRecording) this.#recording = this.#record()
    }, store.seenEverySeconds * 1_000).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#recording
    await store.deleteProcess(this.#deps.db, this.#row.id)
  }

  /** Never rejects. While the database is away, other processes do not see this one. */
  async #record(): Promise<void> {
    const { db, log, now } = this.#deps
    this.#isRecording = true
    try {
      const offset = await measureClockOffset(db, now)
      await store.recordProcess(db, this.#row, Math.max(-maxOffsetMs, Math.min(maxOffsetMs, offset)))
      await store.deleteOldProcesses(db)
    } catch (err) {
      log.debug({ err }, 'the process could not be announced')
    } finally {
      this.#isRecording = false
    }
  }
}
