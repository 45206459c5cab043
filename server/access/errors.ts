import { defineErrors } from '../lib/errors.ts'

export const accessErrors = defineErrors({
  privateVideo: [
    'private-video',
    403,
    'This video is private.',
    'A private video plays only from URLs that contain a token. The API returns such URLs.',
  ],
  privateVideoEmbed: [
    'private-video-embed',
    401,
    'This video or live stream is private.',
    'Private videos and live streams have no oEmbed. They play only from URLs that contain a token, which the API returns.',
  ],
})
