/** Ways to upload with a token. They need nothing but what their first lines install. */
export const uploadSamples = (url: string, token: string) => [
  { label: 'curl', code: curl(url, token) },
  { label: 'tus-js-client', code: tus(url, token) },
  { label: 'MediaRecorder', code: recorder(url, token) },
]

const curl = (url: string, token: string) => `curl '${url}/upload?token=${token}' -F file=@video.mp4
`

const tus = (
  url: string,
  token: string,
) => `// Uploads from a page with <input type="file"> and resumes after a lost connection.
// npm install tus-js-client
import { Upload } from 'tus-js-client'

document.querySelector('input').addEventListener('change', ({ target: { files: [file] } }) => {
  const upload = new Upload(file, {
    endpoint: '${url}/tus?token=${token}',
    metadata: { filename: file.name },
    retryDelays: [0, 1000, 3000, 5000],
    onSuccess: () => console.log('uploaded'),
  })
  upload.start()
})
`

/** The library takes a host, and always uses HTTPS. */
const recorder = (
  url: string,
  token: string,
) => `// Uploads the camera while it is recorded. Needs a page and a server with HTTPS.
// npm install @api.video/video-uploader
import { ProgressiveUploader } from '@api.video/video-uploader'

const uploader = new ProgressiveUploader({
  apiHost: '${new URL(url).host}',
  uploadToken: '${token}',
})
const camera = await navigator.mediaDevices.getUserMedia({ video: true, audio: true })
const recorder = new MediaRecorder(camera)
recorder.addEventListener('dataavailable', ({ data }) =>
  recorder.state === 'inactive' ? uploader.uploadLastPart(data) : uploader.uploadPart(data),
)
recorder.start(1000)
document.querySelector('button').addEventListener('click', () => recorder.stop())
`
