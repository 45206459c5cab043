import type { VideoStatus } from '../../../api/types.ts'
import { encodedFraction, isArriving, receivedFraction } from '../../../api/video-status.ts'

export type VideoState = {
  /**
   * empty: nothing was uploaded. preparing: the file has arrived and is not examined yet. partial: it plays, but some
   * qualities have failed.
   */
  name: 'empty' | 'uploading' | 'fetching' | 'preparing' | 'encoding' | 'ready' | 'partial' | 'failed'
  /** From 0 to 1, of what is going on. */
  fraction: number
  isPlayable: boolean
}

export function stateOf(status: VideoStatus): VideoState {
  const { ingest, encoding } = status
  const { playable: isPlayable, qualities } = encoding
  // What has arrived may be encoded already.
  if (isArriving(status) && ingest?.failure === undefined)
    return {
      name: ingest?.status === 'uploading' ? 'uploading' : 'fetching',
      fraction: receivedFraction(status),
      isPlayable,
    }
  const isOpen = qualities.some(({ status }) => status === 'waiting' || status === 'encoding')
  if (isOpen) return { name: 'encoding', fraction: encodedFraction(status), isPlayable }
  if (ingest?.failure !== undefined) return { name: 'failed', fraction: 0, isPlayable }
  if (qualities.some(({ status }) => status === 'failed'))
    return { name: isPlayable ? 'partial' : 'failed', fraction: 0, isPlayable }
  if (qualities.length > 0) return { name: 'ready', fraction: 1, isPlayable }
  if (!ingest) return { name: 'empty', fraction: 0, isPlayable }
  return { name: 'preparing', fraction: 0, isPlayable }
}

export const isUnderWay = ({ name }: VideoState) =>
  name === 'uploading' || name === 'fetching' || name === 'preparing' || name === 'encoding'

export const hasMp4 = ({ encoding }: VideoStatus) =>
  encoding.qualities.some(({ type, status }) => type === 'mp4' && status === 'encoded')
