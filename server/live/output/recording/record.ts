import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { Transaction } from 'kysely'
import type { Context } from '../../../context.ts'
import { FileNotFoundError, FileStoreError } from '../../../lib/files/files.ts'
import { inParallel } from '../../../lib/parallel.ts'
import type { Size } from '../../../media/images.ts'
import type { Tables } from '../../../tables.ts'
import { newSource } from '../../../uploads/source/begin.ts'
import { insertSource } from '../../../uploads/source/store.ts'
import { removeIfDeleted } from '../../../videos/delete.ts'
import { sourceKey } from '../../../videos/files.ts'
import { insertVideo, type NewVideo, setVideoSize } from '../../../videos/store.ts'
import { recordEvent } from '../../../webhooks/events.ts'
import { recordings } from '../../metrics.ts'
import { maxRecordingRetries } from '../../queues.ts'
import { liveSegmentKey } from '../../state/files.ts'
import type { RecordingRow } from '../../tables.ts'
import { largestFrame, readInit } from './read-segment.ts'
import * as store from './store.ts'
import { DamagedSegmentError, type RecordedSegment, writeMp4 } from './write-mp4.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log' | 'metrics'>

/** The segments of a recording are lost. The message is shown to the owner of the live stream. */
class NothingToRecordError extends Error {}

/** Makes a video of a part of a broadcast. It may run twice, also at the same time, and creates one video. */
export async function recordBroadcast(
  deps: Deps,
  { broadcastId, part }: { broadcastId: string; part: number },
  retries: number,
): Promise<void> {
  const { db, log, metrics, now } = deps
  const key = { broadcast_id: broadcastId, part }
  const recording = await store.findByKey(db, key)
  if (recording?.state !== 'waiting') return
  try {
    await record(deps, recording)
    metrics.count(recordings, { result: 'recorded' })
  } catch (err) {
    const isFinal = err instanceof NothingToRecordError || retries >= maxRecordingRetries
    log.warn({ err, ...key }, isFinal ? 'a recording has failed' : 'a recording failed, retrying')
    const state = isFinal ? 'failed' : 'waiting'
    await store.updateRecording(db, key, { state, reason: describe(err), updated_at: now() })
    if (!isFinal) throw err
    metrics.count(recordings, { result: 'failed' })
  }
}

function describe(error: unknown): string {
  if (error instanceof NothingToRecordError) return error.message
  if (error instanceof FileStoreError) return `The file store is ${error.kind}.`
  return 'The recording could not be stored because of an internal error.'
}

async function record(deps: Deps, recording: RecordingRow): Promise<void> {
  const { db } = deps
  const { video_id: videoId } = recording
  const segments = await openSegments(deps, recording)
  const { size } = await writeSource(deps, videoId, segments)
  const source = { bytes: size, frame: largestFrame(segments.map(({ tracks }) => tracks)) }
  await db.transaction().execute((trx) => createVideo(deps, trx, recording, source))
  // The video of an earlier run may have been deleted before this run stored its file again.
  await removeIfDeleted(deps, videoId)
}

type StoredSegment = RecordedSegment & { key: string }

async function openSegments({ db, files }: Deps, recording: RecordingRow): Promise<StoredSegment[]> {
  const { broadcast_id: broadcastId } = recording
  const rows = await store.listSegments(db, recording)
  const inits = await store.listInits(db, broadcastId, [...new Set(rows.map(({ epoch }) => epoch))])
  const tracks = new Map([...inits].map(([epoch, data]) => [epoch, readInit(data)]))
  return rows.map((row) => {
    const key = liveSegmentKey(broadcastId, row)
    const read = async () => buffer(await files.read(key))
    return { key, bytes: row.bytes, tracks: tracks.get(row.epoch) ?? {}, read }
  })
}

/** Segments that the store has lost are left out: the rest is worth more than nothing. */
async function writeSource(
  { files, log }: Deps,
  videoId: string,
  segments: StoredSegment[],
): Promise<{ size: number }> {
  try {
    if (segments.length > 0) return await files.put(sourceKey(videoId), writeMp4(segments))
  } catch (err) {
    if (!(err instanceof FileNotFoundError || err instanceof DamagedSegmentError)) throw err
    log.warn({ err, videoId }, 'segments of a recording are missing from the file store')
    const found = await findIntact(files, segments)
    if (found.length === segments.length) throw err
    if (found.length > 0) return files.put(sourceKey(videoId), writeMp4(found))
  }
  throw new NothingToRecordError('The segments of the broadcast are missing from the file store.')
}

const maxParallelStats = 16

async function findIntact(files: Context['files'], segments: StoredSegment[]): Promise<StoredSegment[]> {
  const sizes = new Map<string, number>()
  await inParallel(segments, maxParallelStats, async ({ key }) => {
    const found = await files.stat(key)
    if (found) sizes.set(key, found.size)
  })
  return segments.filter(({ key, bytes }) => sizes.get(key) === bytes)
}

/** Everything that the recording leads to is in one transaction, so that it happens exactly once. */
async function createVideo(
  { queue, now }: Deps,
  trx: Transaction<Tables>,
  key: store.RecordingKey,
  { bytes, frame }: { bytes: number; frame: Size | undefined },
): Promise<void> {
  const recording = await store.lockRecording(trx, key)
  if (recording?.state !== 'waiting') return
  const { video_id: videoId, liveStreamId, environment } = recording
  const time = now()
  await insertVideo(trx, newVideo(recording, time))
  if (frame) await setVideoSize(trx, videoId, frame)
  const origin = { created_by: null, token: null, filename: null, address: null }
  const source = newSource(videoId, 'recording', randomUUID(), origin, time)
  await insertSource(trx, { ...source, state: 'stored', size: bytes })
  await recordEvent(trx, environment, 'video.source.recorded', { liveStreamId, videoId }, time)
  await queue.send(trx, 'plan-encoding', { videoId })
  await store.updateRecording(trx, key, { state: 'recorded', reason: null, updated_at: time })
}

function newVideo(
  { video_id: id, environment, liveStreamId, stream }: store.StoredRecording,
  time: Date,
): NewVideo {
  return {
    id,
    environment,
    title: stream.name,
    description: '',
    public: stream.public,
    panoramic: false,
    mp4_support: true,
    playable_during_upload: null,
    tags: [],
    metadata: [],
    player_id: stream.playerId,
    language: null,
    is_language_detected: false,
    source_type: 'liveStream',
    source_reference: liveStreamId,
    upload_token: null,
    clip: null,
    watermark: null,
    width: null,
    height: null,
    created_at: time,
    updated_at: time,
  }
}
