import type { Slice } from '../slice.ts'
import { startTranscription } from './service.ts'
import { transcriptionChannel } from './store.ts'

export const transcription: Slice = {
  services: [
    (context) => {
      const { wake, close } = startTranscription(context)
      return { channels: { [transcriptionChannel]: wake }, close }
    },
  ],
}
