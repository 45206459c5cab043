import type { Kysely } from 'kysely'
import type { Environment } from './environments.ts'
import type { RateClass } from './lib/request-counter.ts'
import type { Tables } from './tables.ts'

/** What a request has access to. */
export type Scope = { environment: Environment; keyId: string }

/** What decides the scope of a request. */
export type ScopedRequest = {
  headers: { authorization?: string | undefined }
  requiredEnvironment: Environment | undefined
  /** Set if a session of the dashboard replaces the key. */
  sessionScope: Scope | undefined
}

/** Finds the scope of a request. Throws if it has neither a valid key nor a session. */
export type Authenticate = (request: ScopedRequest) => Promise<Scope>

// What app.ts adds to Fastify for all slices.
declare module 'fastify' {
  interface FastifyRequest {
    /** 'sandbox' below /sandbox; elsewhere undefined, because the key or token decides. */
    requiredEnvironment: Environment | undefined
    /** Set below /dashboard/api/{environment}, where the session of the dashboard replaces the API key. */
    dashboardEnvironment: Environment | undefined
    /** Set on every route that needs a key. */
    scope: Scope
    /**
     * Runs queries that may read many rows, as every list does: a few at once, not for long, and only while the client
     * waits. Set on every route that needs a key.
     */
    read: <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>
    /** The scope of a session of the dashboard, which replaces the key. */
    sessionScope: Scope | undefined
  }
  interface FastifyInstance {
    /** Health checks fail, so that proxies send no more requests. */
    isStopping: boolean
    /** The server finishes the requests in progress and accepts no new connections. */
    isClosing: boolean
  }
  interface FastifyContextConfig {
    rateClass?: RateClass
    /** The route counts the bytes that it sends. */
    countsSentBytes?: boolean
    /** The route is part of the API below /dashboard/api. */
    isInDashboard?: boolean
    /** OpenAPI description of a body that the handler reads itself, without a schema. */
    described?: object
  }
}
