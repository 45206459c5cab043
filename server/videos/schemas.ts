import { exampleId, idField, metadataPair, timeField } from '../lib/fields.ts'
import { nullable, oneOf, ref } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { descriptionDescription, playableDuringUploadDescription, titleDescription } from './input-schemas.ts'
import { videoStates } from './state-store.ts'

const VideoSource = Type.Object(
  {
    type: Type.String({ description: '`upload`, `url`, `clone` or `liveStream`.', examples: ['upload'] }),
    uri: Type.String({
      description: 'The URL that is fetched, or the path that files are uploaded to.',
      examples: [`/videos/${exampleId('vi')}/source`],
    }),
    liveStream: Type.Optional(
      Type.Object(
        {
          liveStreamId: idField('li', 'Id of the live stream.'),
          links: Type.Array(
            Type.Object({
              rel: Type.String({ description: 'What the link leads to.', examples: ['self'] }),
              uri: Type.String({
                description: 'Path of the live stream.',
                examples: [`/live-streams/${exampleId('li')}`],
              }),
            }),
            { description: 'Links to the live stream.' },
          ),
        },
        { description: 'For a recording: the live stream that was recorded.' },
      ),
    ),
  },
  { description: 'Where the content comes from.' },
)

const playerUrl = `https://video.example.com/vod/${exampleId('vi')}`
const asset = (description: string, example: string) =>
  Type.String({ format: 'uri', description, examples: [example] })

const VideoPreview = Type.Object(
  {
    vtt: asset(
      'A WebVTT file with the time and the place of each frame, for players.',
      `${playerUrl}/sprites.vtt`,
    ),
    sheets: Type.Array(Type.String({ format: 'uri' }), {
      description: 'The JPEG images with the frames, row by row.',
      examples: [[`${playerUrl}/sprites/0.jpg`]],
    }),
    tiles: Type.Integer({ description: 'Number of frames on all sheets.', examples: [25] }),
    columns: Type.Integer({ description: 'Frames in a row.', examples: [5] }),
    rows: Type.Integer({
      description: 'Rows on a sheet. The last sheet may have fewer frames.',
      examples: [5],
    }),
    width: Type.Integer({ description: 'Width of a frame in pixels.', examples: [480] }),
    height: Type.Integer({ description: 'Height of a frame in pixels.', examples: [270] }),
    interval: Type.Number({ description: 'Seconds of the video from one frame to the next.', examples: [1] }),
  },
  { description: 'Small frames of the entire video. Only with `include[]=preview`, once they exist.' },
)
export type VideoPreview = Static<typeof VideoPreview>

const VideoOverview = Type.Object(
  {
    state: oneOf(videoStates, {
      description:
        '`missing`: nothing has been uploaded. `processing`: content arrives or is encoded. `ready`: the encoding has ended. `failed`: the content could not be fetched or encoded.',
      examples: ['ready'],
    }),
    playable: Type.Boolean({
      description: 'Whether the HLS manifest is served. It may be while the video is `processing`.',
      examples: [true],
    }),
    duration: nullable(
      Type.Integer({ description: 'Duration in seconds of what viewers get.', examples: [60] }),
    ),
    width: nullable(Type.Integer({ description: 'Width of the source in pixels.', examples: [1920] })),
    height: nullable(Type.Integer({ description: 'Height of the source in pixels.', examples: [1080] })),
    thumbnailVersion: nullable(
      Type.String({
        description:
          'Changes with the image of `assets.thumbnail`. Add it to that URL, as in `?v=`, and no cache shows an earlier image. Null while there is only a placeholder.',
        examples: ['9f86d081884c7d65'],
      }),
    ),
    failure: Type.Optional(
      Type.String({
        description: 'Why the state is `failed`. Absent otherwise.',
        examples: ['The file has no video stream.'],
      }),
    ),
  },
  {
    description:
      'Only with `include[]=status`. Duration and size are null until the source has been examined. `GET /videos/{videoId}/status` shows more.',
  },
)

const VideoTexts = Type.Object(
  {
    captions: Type.Array(Type.String(), { description: 'Languages with captions.', examples: [['en']] }),
    chapters: Type.Array(Type.String(), { description: 'Languages with chapters.', examples: [['en']] }),
    summary: Type.Boolean({ description: 'Whether there is a written summary.', examples: [false] }),
    version: Type.String({
      description: 'Changes with each of these texts, which do not change the `updatedAt` of the video.',
      examples: ['9f86d081884c7d65'],
    }),
  },
  { description: 'Only with `include[]=texts`.' },
)
export type VideoTexts = Static<typeof VideoTexts>

const VideoAssets = Type.Object(
  {
    hls: asset('The HLS manifest, for any player.', `${playerUrl}/hls/manifest.m3u8`),
    iframe: Type.String({
      description:
        'HTML that embeds the player in a page, as wide as possible and in the shape of the video. Until the source has been examined (`encoding.metadata.width` of the status is null), the shape is 16 / 9.',
      examples: [`<iframe src="${playerUrl}" width="100%" style="aspect-ratio: 16 / 9; border: 0"></iframe>`],
    }),
    player: asset('The page with the player.', playerUrl),
    thumbnail: asset('The thumbnail, as a JPEG image.', `${playerUrl}/thumbnail.jpg`),
    mp4: Type.Optional(
      asset('The MP4 file. Absent when `mp4Support` is false.', `${playerUrl}/mp4/source.mp4`),
    ),
    preview: Type.Optional(VideoPreview),
  },
  {
    description:
      'URLs of the video. Those of a private video contain a new token in each response. Null while the video is discarded.',
  },
)

export const Video = Type.Object(
  {
    id: idField('vi', 'Id of the video.'),
    videoId: idField('vi', 'The same as `id`.'),
    title: Type.String({ description: titleDescription, examples: ['My first video'] }),
    description: Type.String({ description: descriptionDescription, examples: ['How to bake bread.'] }),
    public: Type.Boolean({ description: 'Whether anyone may watch the video.', examples: [true] }),
    panoramic: Type.Boolean({ description: 'Whether the video is a 360° video.', examples: [false] }),
    mp4Support: Type.Boolean({ description: 'Whether an MP4 file is created.', examples: [true] }),
    playableDuringUpload: nullable(
      Type.Boolean({ description: playableDuringUploadDescription, examples: [true] }),
    ),
    playerId: nullable(
      Type.String({ description: 'Player theme. Null: the default one.', examples: [exampleId('pl')] }),
    ),
    tags: Type.Array(Type.String(), {
      description: 'Tags. Searchable.',
      examples: [['tutorial', 'beginner']],
    }),
    metadata: Type.Array(metadataPair(), { description: 'Pairs of a key and a value. Searchable.' }),
    language: nullable(
      Type.String({ description: 'Spoken language. Null if it is not known.', examples: ['en'] }),
    ),
    languageOrigin: nullable(
      Type.String({
        description: '`api`: set by a request. `auto`: detected by a transcript.',
        examples: ['api'],
      }),
    ),
    source: VideoSource,
    assets: nullable(VideoAssets),
    status: Type.Optional(VideoOverview),
    texts: Type.Optional(VideoTexts),
    createdAt: timeField('When the video was created.'),
    updatedAt: timeField('When an attribute of the video was last changed.'),
    publishedAt: timeField('The same as `createdAt`. `public` decides who may watch the video.'),
    discarded: Type.Boolean({
      description: 'Whether the video was deleted and can still be restored.',
      examples: [false],
    }),
    discardedAt: nullable(timeField('When the video was discarded. Null if it was not.')),
    deletesAt: nullable(
      timeField(
        'A discarded video can be restored until this time. Then it is permanently deleted.',
        '2026-12-16T09:30:00+00:00',
      ),
    ),
  },
  {
    $id: 'Video',
    description: 'A video: its attributes, where its content comes from, and where it is played.',
  },
)
export type Video = Static<typeof Video>

export const VideoList = listOf(ref(Video), 'VideoList')

export const TagList = listOf(
  Type.Object({
    value: Type.String({ description: 'The tag.', examples: ['tutorial'] }),
    videoCount: Type.Integer({ description: 'Number of videos with this tag.', examples: [12] }),
  }),
  'TagList',
)
