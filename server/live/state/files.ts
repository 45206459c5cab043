/**
 * The keys of live segments in the file store: `live/{broadcast}/{quality}/{sequence}-{fence}.m4s`. The fence lets an
 * owner write while an earlier owner, which does not know yet that it was replaced, is still writing.
 */
export const liveFolder = 'live'

export const broadcastFolder = (broadcastId: string) => `${liveFolder}/${broadcastId}`

export const liveSegmentKey = (
  broadcastId: string,
  { quality, sequence, fence }: { quality: string; sequence: number; fence: number },
) => `${broadcastFolder(broadcastId)}/${quality}/${sequence}-${fence}.m4s`

/** The numbers that the owner with this fence has reserved while the database was unavailable. */
export const reservedNumbersKey = ({ id, fence }: { id: string; fence: number }) =>
  `${broadcastFolder(id)}/numbers-${fence}.json`

/** False for files that this service does not create. */
export const isLiveSegmentKey = (key: string) => /^live\/\w+\/\w+\/\d+-\d+\.m4s$/.test(key)
