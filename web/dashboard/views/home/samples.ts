/** Stands for a key that is not known: the server stores only its hash. */
const placeholderKey = 'YOUR_API_KEY'

export type Sample = { language: string; code: string }

/** Programs that create a video and upload video.mp4 into it. They need nothing but what their first line installs. */
export const samplesFor = (url: string, key = placeholderKey): Sample[] => [
  { language: 'curl', code: curl(url, key) },
  { language: 'Node', code: node(url, key) },
  { language: 'Python', code: python(url, key) },
  { language: 'PHP', code: php(url, key) },
]

const curl = (url: string, key: string) => `VIDEO_ID=$(curl -s '${url}/videos' \\
  -u '${key}:' \\
  -H 'Content-Type: application/json' \\
  -d '{"title": "My first video"}' | sed -E 's/.*"videoId":"([^"]+)".*/\\1/')

curl "${url}/videos/$VIDEO_ID/source" \\
  -u '${key}:' \\
  -F 'file=@video.mp4'
`

const node = (url: string, key: string) => `// npm install @api.video/nodejs-client
import ApiVideoClient from '@api.video/nodejs-client'

const client = new ApiVideoClient({
  apiKey: '${key}',
  baseUri: '${url}',
})
const video = await client.videos.create({ title: 'My first video' })
await client.videos.upload(video.videoId, 'video.mp4')
console.log(video.assets.player)
`

const python = (url: string, key: string) => `import json
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import uuid4

def post(path, content_type, data):
    headers = {
        "Authorization": "Bearer ${key}",
        "Content-Type": content_type,
    }
    with urlopen(Request("${url}" + path, data, headers)) as response:
        return json.load(response)

video = post("/videos", "application/json", json.dumps({"title": "My first video"}).encode())

boundary = uuid4().hex
body = b"".join([
    f'--{boundary}\\r\\nContent-Disposition: form-data; name="file"; filename="video.mp4"\\r\\n\\r\\n'.encode(),
    Path("video.mp4").read_bytes(),
    f"\\r\\n--{boundary}--\\r\\n".encode(),
])
post(f"/videos/{video['videoId']}/source", f"multipart/form-data; boundary={boundary}", body)
print(video["assets"]["player"])
`

const php = (url: string, key: string) => `<?php
function post(string $path, string $type, string $body): array
{
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['Authorization: Bearer ${key}', "Content-Type: $type"],
        'content' => $body,
    ]]);
    return json_decode(file_get_contents("${url}$path", false, $context), true);
}

$video = post('/videos', 'application/json', json_encode(['title' => 'My first video']));

$boundary = bin2hex(random_bytes(16));
$body = "--$boundary\\r\\nContent-Disposition: form-data; name=\\"file\\"; filename=\\"video.mp4\\"\\r\\n\\r\\n"
    . file_get_contents('video.mp4')
    . "\\r\\n--$boundary--\\r\\n";
post("/videos/{$video['videoId']}/source", "multipart/form-data; boundary=$boundary", $body);
echo $video['assets']['player'], PHP_EOL;
`
