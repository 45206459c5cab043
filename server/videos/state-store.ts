export const videoStates = ['missing', 'processing', 'ready', 'failed'] as const

/**
 * `missing`: nothing has been uploaded. `processing`: content arrives or is encoded; the video may already be playable.
 * `ready`: the encoding has ended, and the video is playable. `failed`: the content could not be fetched or encoded.
 */
export type VideoState = (typeof videoStates)[number]

const hasContent = `exists (
  select from sources
  where video_id = id and (state <> 'receiving' or received_pieces > 0 or arriving_bytes is not null))`
const isSourceFailed = `exists (select from sources where video_id = id and state = 'failed')`
const isEncoding = (...states: string[]) =>
  `exists (select from encodings where video_id = id and state in (${states.map((each) => `'${each}'`)}))`

/** Conditions on the columns `id` and `source_type` of a video. Exactly one of them is true. */
const stateConditions: Record<VideoState, string> = {
  missing: `(source_type = 'upload' and not ${hasContent})`,
  processing: `(not ${isEncoding('encoded', 'failed')} and not ${isSourceFailed}
    and (source_type <> 'upload' or ${hasContent}))`,
  ready: isEncoding('encoded'),
  // A union, so that a list of failed videos starts at the few failures.
  failed: `id in (
    select video_id from encodings where state = 'failed' union all
    select s.video_id from sources s where s.state = 'failed' and not exists (
      select from encodings e where e.video_id = s.video_id and e.state = 'encoded'))`,
}

/**
 * The videos whose content has no encoding that has ended, and a few more, from indexes alone. Without it, a list of them
 * would look at each video from the oldest on. In an array, because Postgres would otherwise read all videos to join them.
 */
const unfinished = `id = any(array(
  select video_id from encodings where state = 'encoding'
  union all
  select video_id from sources where state in ('receiving', 'received')
  union all
  select s.video_id from sources s
  where s.state = 'stored' and not exists (select from encodings e where e.video_id = s.video_id)
  union all
  select v.id from all_videos v
  where v.source_type <> 'upload' and not exists (select from encodings e where e.video_id = v.id)))`

/** The same conditions for lists. */
export const stateFilters: Record<VideoState, string> = {
  ...stateConditions,
  processing: `(${unfinished} and ${stateConditions.processing})`,
}

export const stateColumn = `
  case when ${stateConditions.ready} then 'ready'
       when ${stateConditions.missing} then 'missing'
       when ${stateConditions.processing} then 'processing'
       else 'failed' end as "videoState"`
