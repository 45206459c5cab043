import type { FastifyRequest } from 'fastify'
import type { Playable } from './store.ts'

/** Whether this request may have the video's media. Asked for every file. */
export function mayPlay(video: Playable, _request: FastifyRequest): boolean {
  return video.public
}
