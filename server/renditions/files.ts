/**
 * Each segment is a file of its own below the key of its row: a part of a file can be handed neither to a proxy nor to a
 * store's own address, and caches keep whole files best. `position` is its place among the sizes of the row.
 */
export const segmentFile = (key: string, position: number) => `${key}/${position}.m4s`

/** The key that a file is known by: of a segment that of its row, of anything else its own. */
export const knownKeyOf = (file: string) => file.replace(/\/\d+\.m4s$/, '')
