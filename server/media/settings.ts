import { type ReadValues, setting, text } from '../lib/settings.ts'

export const mediaSettings = {
  ffmpeg: setting({ name: 'KINORA_FFMPEG', default: 'ffmpeg', meaning: 'The ffmpeg program.', read: text }),
  ffprobe: setting({
    name: 'KINORA_FFPROBE',
    default: 'ffprobe',
    meaning: 'The ffprobe program.',
    read: text,
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof mediaSettings> {}
}
