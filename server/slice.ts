import type { AddressInfo } from 'node:net'
import type { Authenticator } from './accounts/authenticate.ts'
import type { Context } from './context.ts'
import type { Changes } from './dashboard/changes.ts'
import type { App } from './lib/http.ts'
import type { Metrics } from './lib/metrics.ts'
import type { RateLimit } from './lib/rate-limit.ts'
import type { TSchema } from './lib/schema.ts'
import type { Tools } from './media/ffmpeg.ts'
import type { ImageServices } from './media/image-upload.ts'
import type { Jobs } from './queues.ts'
import type { UploadCoordinator } from './uploads/source/coordinator.ts'

/** The context of routes. */
export type ApiContext = Context &
  ImageServices & {
    authenticator: Authenticator
    metrics: Metrics
    limit: RateLimit
    /** Shared by all upload routes of the process. */
    coordinator: UploadCoordinator
    /** The open pages of the dashboard. */
    changes: Changes
    /** The ports of this process for encoders, once they are open. Undefined without the role `live`. */
    ports: () => Ports | undefined
  }

/** The context of jobs, tasks and services. */
export type WorkerContext = Context & { metrics: Metrics; tools: Tools }

/** The context of what a process with the role `live` runs. */
export type LiveContext = Context & {
  tools: Tools
  tls: { cert: Buffer; key: Buffer } | undefined
  /** Where the HTTP server of this process listens. */
  address: AddressInfo
}

/** By protocol, such as `rtmp`. */
export type Ports = Record<string, number | undefined>

/**
 * A slice is one folder of the server: its tables, errors, settings, queues, routes and jobs. `slice.ts` in the folder
 * lists what the process has to register; `slices.ts` lists all slices.
 */
export type Slice = {
  /** Schemas with an `$id` that routes refer to. */
  schemas?: TSchema[]
  /** Routes that need an API key or an access token. The database of their context has connections of its own. */
  routes?(app: App, context: ApiContext): void
  /** Routes without an API key; they check access themselves. */
  publicRoutes?(app: App, context: ApiContext): void | Promise<void>
  /** Routes of every process, whatever its roles. */
  processRoutes?(app: App, context: ApiContext): void
  /** If several slices handle the jobs of a queue, their handlers run one after the other. */
  jobs?: { [N in keyof Jobs]?: JobHandler<N> }
  tasks?: Task[]
  services?: ((context: WorkerContext) => Service)[]
  /** Opens what the routes and services of the slice share in a process. */
  open?(): OpenParts
}

/** The parts of a slice that share something open. */
type OpenParts = Pick<Slice, 'publicRoutes' | 'processRoutes'> & {
  /** Postgres notification channels, each with the function to call on a notification. */
  channels?: Record<string, () => void>
  /** Called in a process with the role `live`, once its HTTP server listens. */
  startLive?(context: LiveContext): Promise<{ ports: Ports; close(): Promise<void> }>
}

export type OpenSlice = Slice & OpenParts

/** A throw means that the job is retried; `retries` is the number of earlier attempts. */
export type JobHandler<N extends keyof Jobs> = (
  context: WorkerContext,
  job: Jobs[N],
  retries: number,
) => Promise<void>

/** Work that every worker repeats, `everyMs` after the previous run has ended. */
export type Task = {
  name: string
  everyMs: number
  run(context: WorkerContext, closing: AbortSignal): Promise<void>
}

/** A long-running part of a worker. */
export type Service = {
  /** Postgres notification channels, each with the function to call on a notification. */
  channels: Record<string, () => void>
  close(): Promise<void>
}
