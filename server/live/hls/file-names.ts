/** A file of a quality, as its name says. */
export type LiveFile =
  | { kind: 'playlist' }
  | { kind: 'init'; epoch: number }
  | { kind: 'segment'; sequence: number; epoch: number }
  | { kind: 'part'; sequence: number; epoch: number; part: number }

export function parseLiveFile(name: string): LiveFile | undefined {
  if (name === 'index.m3u8') return { kind: 'playlist' }
  const [, initEpoch] = /^init-(\d{1,9})\.mp4$/.exec(name) ?? []
  if (initEpoch !== undefined) return { kind: 'init', epoch: Number(initEpoch) }
  const [, sequence, epoch, part] = /^(\d{1,9})-(\d{1,9})(?:\.(\d{1,9}))?\.m4s$/.exec(name) ?? []
  if (sequence === undefined) return undefined
  const segment = { sequence: Number(sequence), epoch: Number(epoch) }
  return part === undefined
    ? { kind: 'segment', ...segment }
    : { kind: 'part', ...segment, part: Number(part) }
}
