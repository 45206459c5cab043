import ApiVideoClient from '@api.video/nodejs-client'
import { productionKey } from './harness.ts'

// Not part of the harness, because loading the client takes longer than the rest of a test file.

/** Creates the published client for a service. */
export const client = (url: string, apiKey = productionKey) => new ApiVideoClient({ baseUri: url, apiKey })
