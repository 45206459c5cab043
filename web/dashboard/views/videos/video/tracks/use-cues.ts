import { useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { type TrackKind, tracksQuery, trackTextQuery, uploadTrack } from '../../../../api/tracks.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { type DraftForm, useDraft } from '../../../../draft/use-draft.ts'
import { messages } from '../../../../messages/messages.ts'
import { showToast } from '../../../../ui/toast-list.ts'
import { usePlayer } from '../player/use-player.ts'
import { type Cue, type CueFile, emptyFile, parseWebVtt, writeWebVtt } from './webvtt.ts'

export type TrackId = { videoId: string; kind: TrackKind; language: string }

/** `text` is the stored file; undefined if the cues were edited. `past` are the cues before changes that can be undone. */
type Content = { text: string | undefined; file: CueFile; past: Cue[][] }
export type CueValues = { content: Content }

/** Gets the cues as they are now, which is not always how they were when the button was pressed. */
type CueChange = (cues: Cue[]) => Cue[]

/** Changes that can be undone. */
const maxPast = 50

const read = (text: string): Content => ({
  text,
  file: text === '' ? emptyFile() : parseWebVtt(text),
  past: [],
})

/** A file has tens of thousands of cues, so they are not compared one by one. */
const isSame = (a: Content, b: Content) => a.file === b.file || (a.text !== undefined && a.text === b.text)

/** The cues of a file while they are edited. The text of a new file is empty. */
export function useCues(id: TrackId, text: string, onSaved: () => void) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { reload } = usePlayer()
  /** Cues keep their keys as long as the text stays the same. */
  const known = useRef<Content>(undefined)
  const form = useDraft<CueValues, string>({
    query: trackTextQuery(environment, id),
    data: text,
    valuesOf: (stored) => {
      if (known.current?.text !== stored) known.current = read(stored)
      return { content: known.current }
    },
    store: async (_, { content }) => {
      const written = writeWebVtt(content.file)
      await uploadTrack(environment, id, new Blob([written], { type: 'text/vtt' }))
      known.current = { ...content, text: written }
      return written
    },
    onSaved: () => {
      onSaved()
      reload()
      showToast(messages.video.tracks[id.kind].saved)
      void client.invalidateQueries({ ...tracksQuery(environment, id.videoId, id.kind), exact: true })
    },
    isSame: isSame as (a: unknown, b: unknown) => boolean,
  })
  const { file, past } = form.typed.content
  return { ...form, cues: file.cues, canUndo: past.length > 0, ...cueActions(form) }
}

function cueActions({ update }: Pick<DraftForm<CueValues>, 'update'>) {
  const apply = (change: CueChange, isUndoable: boolean) =>
    update((typed) => {
      const { file, past } = typed.content
      const cues = change(file.cues)
      if (cues === file.cues) return typed
      const nextPast = isUndoable ? [...past, file.cues].slice(-maxPast) : past
      return { content: { text: undefined, file: { ...file, cues }, past: nextPast } }
    })
  return {
    /** Changes the text or the times of a cue. */
    type: (change: CueChange) => apply(change, false),
    /** Adds or removes cues. */
    edit: (change: CueChange) => apply(change, true),
    undo: () =>
      update((typed) => {
        const { file, past } = typed.content
        const cues = past.at(-1)
        return cues
          ? { content: { text: undefined, file: { ...file, cues }, past: past.slice(0, -1) } }
          : typed
      }),
  }
}

export type CueForm = ReturnType<typeof useCues>
