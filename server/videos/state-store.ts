export const videoStates = ['missing', 'processing', 'ready', 'failed'] as const

/**
 * `missing`: nothing has been uploaded. `processing`: content arrives or is encoded; the video may already be playable.
 * `ready`: the encoding has ended, and the video is playable. `failed`: the content could not be fetched or encoded.
 */
export type VideoState = (typeof videoStates)[number]

const hasContent = `exists (
  select from sources where video_id = id and (state <> 'receiving' or received_pieces > 0))`
const isSourceFailed = `exists (select from sources where video_id = id and state = 'failed')`
const isEncoding = (...states: string[]) =>
  `exists (select from encodings where video_id = id and state in (${states.map((each) => `'${each}'`)}))`

/** Conditions on the columns `id` and `source_type` of a video. Exactly one of them is true. */
export const stateConditions: Record<VideoState, string> = {
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

export const stateColumn = `
  case when ${stateConditions.ready} then 'ready'
       when ${stateConditions.missing} then 'missing'
       when ${stateConditions.processing} then 'processing'
       else 'failed' end as "videoState"`
