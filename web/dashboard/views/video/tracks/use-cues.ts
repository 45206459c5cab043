import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Environment } from '../../../api/client.ts'
import { ApiProblem } from '../../../api/problem.ts'
import { fetchTrackText, tracksQuery, trackTextQuery, uploadTrack } from '../../../api/tracks.ts'
import type { TrackKind } from '../../../api/video-types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { showToast } from '../../../ui/toast-list.ts'
import { usePlayer } from '../player/use-player.ts'
import { type Cue, type CueFile, emptyFile, parseWebVtt, writeWebVtt } from './webvtt.ts'

export type TrackId = { videoId: string; kind: TrackKind; language: string }

/** `stored` is the file that the editing began with; undefined if there was none. */
type Edited = { stored: string | undefined; file: CueFile; isDirty: boolean; past: Cue[][] }

/** Gets the cues as they are now, which is not always how they were when the button was pressed. */
type CueChange = (cues: Cue[]) => Cue[]

/** Changes that can be undone. */
const maxPast = 50

const start = (stored: string | undefined): Edited => ({
  stored,
  file: stored === undefined ? emptyFile() : parseWebVtt(stored),
  isDirty: false,
  past: [],
})

/** Undefined if there is no file. Saving then creates it, also if somebody has deleted it. */
async function findText(environment: Environment, id: TrackId): Promise<string | undefined> {
  try {
    return await fetchTrackText(environment, id)
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return undefined
    throw error
  }
}

/** The cues of a file while they are edited. A change of the file elsewhere never replaces them. */
export function useCues(id: TrackId, isNew: boolean, onSaved: () => void) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { reload } = usePlayer()
  const query = trackTextQuery(environment, id)
  const { data, error, refetch } = useQuery({ ...query, enabled: !isNew })
  const [kept, setEdited] = useState<Edited>()
  // Without changes the file is shown as it is stored.
  const known = isNew && !kept?.isDirty ? undefined : data
  const edited = kept?.isDirty || known === undefined || kept?.stored === known ? kept : undefined
  const current = edited ?? (isNew ? start(undefined) : known === undefined ? undefined : start(known))
  if (current && current !== kept) setEdited(current)
  const save = useMutation({
    mutationFn: async (isForced: boolean) => {
      const { file, stored } = current!
      const content = writeWebVtt(file)
      const theirs = await findText(environment, id)
      if (!isForced && theirs !== undefined && theirs !== stored) {
        client.setQueryData(query.queryKey, theirs)
        throw new Error(texts.video.cues.changedText)
      }
      await uploadTrack(environment, id, new Blob([content], { type: 'text/vtt' }))
      return { content, file }
    },
    onSuccess: async ({ content, file }) => {
      client.setQueryData(query.queryKey, content)
      // What was typed while the request was sent stays.
      setEdited((now) => now && { ...now, stored: content, isDirty: now.file !== file })
      onSaved()
      reload()
      showToast(texts.video.tracks[id.kind].saved)
      await client.invalidateQueries(tracksQuery(environment, id.videoId, id.kind))
    },
  })
  const apply = (change: CueChange, isUndoable: boolean) =>
    setEdited((now) => {
      const cues = now && change(now.file.cues)
      if (!cues || now.file.cues === cues) return now
      const past = isUndoable ? [...now.past, now.file.cues].slice(-maxPast) : now.past
      return { ...now, file: { ...now.file, cues }, isDirty: true, past }
    })
  return {
    cues: current?.file.cues,
    error,
    refetch,
    isDirty: current?.isDirty ?? false,
    isChangedElsewhere: current !== undefined && known !== undefined && current.stored !== known,
    canUndo: (current?.past.length ?? 0) > 0,
    /** Changes the text or the times of a cue. */
    type: (change: CueChange) => apply(change, false),
    /** Adds or removes cues. */
    edit: (change: CueChange) => apply(change, true),
    undo: () =>
      setEdited((now) => {
        const cues = now?.past.at(-1)
        return now && cues ? { ...now, file: { ...now.file, cues }, past: now.past.slice(0, -1) } : now
      }),
    takeTheirs: () => {
      setEdited(start(data))
      onSaved()
      save.reset()
    },
    save,
  }
}

export type CueForm = ReturnType<typeof useCues>
