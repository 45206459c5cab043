/** Where the samples read the private key from. */
export const keyFile = 'signing-key.pem'

/** Programs that print a URL of a private video, which is valid for an hour. The id of the video is their argument. */
export const signSamples = (url: string, keyId: string) => [
  { language: 'Node', code: node(url, keyId) },
  { language: 'Python', code: python(url, keyId) },
  { language: 'PHP', code: php(url, keyId) },
]

const node = (url: string, keyId: string) => `// npm install jose
import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SignJWT } from 'jose'

const videoId = process.argv[2]
const token = await new SignJWT({})
  .setProtectedHeader({ alg: 'ES256', kid: '${keyId}' })
  .setSubject(videoId)
  .setExpirationTime('1 hour')
  .sign(createPrivateKey(await readFile('${keyFile}')))
console.log(\`${url}/vod/\${videoId}?token=\${token}\`)
`

const python = (url: string, keyId: string) => `# pip install pyjwt cryptography
import sys
import time
from pathlib import Path
import jwt

video_id = sys.argv[1]
token = jwt.encode(
    {"sub": video_id, "exp": int(time.time()) + 3600},
    Path("${keyFile}").read_text(),
    algorithm="ES256",
    headers={"kid": "${keyId}"},
)
print(f"${url}/vod/{video_id}?token={token}")
`

const php = (url: string, keyId: string) => `<?php
// composer require firebase/php-jwt
require 'vendor/autoload.php';

use Firebase\\JWT\\JWT;

$videoId = $argv[1];
$claims = ['sub' => $videoId, 'exp' => time() + 3600];
$token = JWT::encode($claims, file_get_contents('${keyFile}'), 'ES256', '${keyId}');
echo "${url}/vod/$videoId?token=$token", PHP_EOL;
`
