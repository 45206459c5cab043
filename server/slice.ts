import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from './config.ts'
import type { Context } from './context.ts'
import type { Environment } from './environments.ts'
import type { ErrorFormats } from './lib/error-handler.ts'
import type { ErrorKind } from './lib/errors.ts'
import type { App } from './lib/http.ts'
import type { CounterDefinition, HistogramDefinition } from './lib/metrics.ts'
import type { Queues } from './lib/queue.ts'
import type { RateLimit } from './lib/rate-limit.ts'
import type { TSchema } from './lib/schema.ts'
import type { EffectiveSetting } from './lib/settings.ts'
import type { TlsCertificate } from './lib/tls-certificate.ts'
import type { Tools } from './media/ffmpeg.ts'
import type { ImageServices } from './media/image-upload.ts'
import type { Jobs } from './queues.ts'
import type { Authenticate } from './request.ts'

/** The context of routes. */
export type ApiContext = Context & ImageServices & { authenticate: Authenticate; limit: RateLimit }

/** The context of jobs, tasks and services. */
export type WorkerContext = Context & { tools: Tools }

/** The context of what a process with the role `live` runs. */
export type LiveContext = Context & {
  tools: Tools
  tls: TlsCertificate | undefined
  /** Where the HTTP server of this process listens. */
  address: AddressInfo
}

/** The context of what a slice opens: what the process and the other slices have for it. */
export type OpenContext = Context & {
  /** Whether this process receives notifications at the moment. */
  isListening: () => boolean
  /** With which commands on this machine call the API. Undefined if they have no keys. */
  localKeys: Record<Environment, string> | undefined
  /** The ports of this process for encoders, once they are open. Undefined without the role `live`. */
  ports: () => Ports | undefined
  /** The errors of all slices. */
  errorKinds: ErrorKind[]
  settings: EffectiveSetting[]
}

/** By protocol, such as `rtmp`. */
export type Ports = Record<string, number | undefined>

/**
 * A slice is one folder of the server: its tables, errors, settings, queues, routes and jobs. `slice.ts` in the folder
 * lists what the process has to register; `slices.ts` lists all slices.
 */
export interface Slice {
  errors?: Record<string, ErrorKind>
  queues?: Partial<Queues<Jobs>>
  /** What it counts in each process. */
  metrics?: (CounterDefinition | HistogramDefinition)[]
  /** Schemas with an `$id` that routes refer to. */
  schemas?: TSchema[]
  /** Hooks for every request of the process, also without a route. */
  hooks?(app: App, context: Context): void
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
  /** The page of an error, for browsers. One slice has it. */
  errorPage?: ErrorFormats['page']
  /** The name of the connection that receives notifications, which all processes can read. One slice has it. */
  listenerName?(config: Config): string
  /** Opens what the routes and services of the slice share in a process. */
  open?(context: OpenContext): OpenParts
}

/** Postgres notification channels, each with the function to call on a notification, and after a reconnect. */
type Channels = Record<string, (payload?: string) => void>

/** The parts of a slice that share something open. */
type OpenParts = Pick<Slice, 'routes' | 'publicRoutes' | 'processRoutes'> & {
  channels?: Channels
  /** One slice has it. */
  authenticate?: Authenticate
  /** Answers a request that it has answered before, or calls `next`. It runs before all hooks and routes. One slice has it. */
  repeat?(request: IncomingMessage, response: ServerResponse, next: () => void): void
  /** Called in every process, once its HTTP server listens. */
  start?(): { close(): Promise<void> }
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
  channels: Channels
  close(): Promise<void>
}
