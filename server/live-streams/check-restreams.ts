import type { Context } from '../context.ts'
import { type FieldError, httpErrors, invalid } from '../lib/errors.ts'
import { UrlNotAllowedError } from '../lib/fetch/errors.ts'
import { parseRtmpTarget } from './rtmp-target.ts'
import type { Restream } from './schemas.ts'

/** Throws 400 if one of the servers cannot be used. */
export function checkRestreams(restreams: Restream[] | undefined, config: Context['config']): void {
  const problems = (restreams ?? []).flatMap(({ serverUrl, streamKey }, i) => [
    ...serverUrlProblems(serverUrl, `restreams[${i}][serverUrl]`, config),
    ...streamKeyProblems(streamKey, `restreams[${i}][streamKey]`),
  ])
  const [first, ...rest] = problems
  if (first) throw invalid([first, ...rest])
}

function streamKeyProblems(streamKey: string, name: string): FieldError[] {
  if (!/\p{Cc}/u.test(streamKey)) return []
  const title = 'The stream key contains a control character, such as a line break.'
  return [{ kind: httpErrors.invalidAttribute, title, name }]
}

function serverUrlProblems(url: string, name: string, config: Context['config']): FieldError[] {
  try {
    parseRtmpTarget(url, config)
    return []
  } catch (error) {
    if (!(error instanceof UrlNotAllowedError)) throw error
    return [{ kind: httpErrors.invalidAttribute, title: error.message, name }]
  }
}
