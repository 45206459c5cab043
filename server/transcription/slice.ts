import type { Slice } from '../slice.ts'
import { transcriptionChannel } from '../transcripts/store.ts'
import { startTranscription } from './service.ts'

export const transcription: Slice = {
  services: [
    (context) => {
      const { wake, close } = startTranscription(context)
      return { channels: { [transcriptionChannel]: wake }, close }
    },
  ],
}
