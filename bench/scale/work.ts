import { randomUUID } from 'node:crypto'
import {
  claimEncodeChunk,
  hasClaimableChunk,
  releaseChunk,
  releaseExpiredLeases,
} from '../../server/encoding/chunks/encode-chunk-store.ts'
import { newId } from '../../server/lib/ids.ts'
import { type ClaimedDelivery, claimDeliveries, saveOutcomes } from '../../server/webhooks/delivery-store.ts'
import { recordEvent } from '../../server/webhooks/events.ts'
import { deleteOld } from '../../server/webhooks/log-store.ts'
import type { Operation } from './compare.ts'
import { deliveredType } from './fill-webhooks.ts'
import { get, sampleVideo } from './requests.ts'
import type { Side } from './side.ts'

const leaseMs = 60_000

/** Everything that a worker asks the database for until it begins to encode. */
async function claimChunk({ db }: Side): Promise<void> {
  if (!(await hasClaimableChunk(db))) throw new Error('no chunk waits')
  await releaseExpiredLeases(db)
  const chunk = await claimEncodeChunk(db, {
    leaseOwner: randomUUID(),
    leaseMs,
    choose: ({ waiting }) => {
      const [first] = waiting
      return {
        from: [first!],
        firstSegment: first!.first_segment,
        segments: first!.segments,
        decoding: 'full',
      }
    },
  })
  if (!chunk) throw new Error('no chunk was claimed')
  await releaseChunk(db, chunk, { afterMs: 0 })
}

/** Deliveries of one video are sent in order, so each event is that of another video. */
const record = ({ db }: Side) =>
  db
    .transaction()
    .execute((trx) => recordEvent(trx, 'production', deliveredType, { videoId: newId('vi') }, new Date()))

const claimed = new WeakMap<Side, ClaimedDelivery[]>()

async function claim(side: Side): Promise<void> {
  const lease = { owner: randomUUID(), durationMs: leaseMs }
  const limits = { running: new Map(), maxPerWebhook: 16, maxTotal: 256 }
  claimed.set(side, await claimDeliveries(side.db, limits, lease))
}

async function save(side: Side): Promise<void> {
  const outcomes = claimed.get(side)!.map(({ id, leaseOwner, attempts }) => ({
    id,
    leaseOwner,
    attempts,
    ...({ state: 'succeeded', tries: 1 } as const),
  }))
  await saveOutcomes(side.db, outcomes)
}

/** So that only the deliveries of the measured event wait. */
async function deliverAll(side: Side): Promise<void> {
  do {
    await claim(side)
    await save(side)
  } while (claimed.get(side)!.length > 0)
}

async function recordOne(side: Side): Promise<void> {
  await deliverAll(side)
  await record(side)
}

export const work: Operation[] = [
  { measured: 'claim and release of a chunk', run: claimChunk },
  { measured: 'event with 10 deliveries', run: record },
  { measured: 'claim of 10 deliveries', prepare: recordOne, run: claim },
  { measured: 'claim without a delivery', prepare: deliverAll, run: claim },
  {
    measured: 'outcomes of 10 deliveries',
    async prepare(side) {
      await recordOne(side)
      await claim(side)
    },
    run: save,
  },
  { measured: 'GET /events', run: (side) => get(side, '/events') },
  { measured: 'GET /events?type=…', run: (side) => get(side, `/events?type=${deliveredType}`) },
  {
    measured: 'GET /events?videoId=…',
    run: (side, n) => get(side, `/events?videoId=${sampleVideo(side, n)}`),
  },
  { measured: 'GET /webhooks', run: (side) => get(side, '/webhooks'), grows: 'counts up to 5,000 webhooks' },
  {
    measured: 'GET /webhooks/{webhookId}/deliveries',
    run: (side) => get(side, `/webhooks/webhook_${'2'.padStart(22, '0')}/deliveries`),
  },
  {
    measured: 'expiry of 1,000 events',
    run: ({ db }) => deleteOld(db, 'events', new Date(Date.now() + leaseMs), 1_000),
  },
]
