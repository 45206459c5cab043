import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutSecrets } from './log.ts'

const secret = 's3cr3t-V4lue.x_y'

test('secrets in a URL are masked, with and without percent-encoding', () => {
  for (const [url, expected] of [
    [
      `/vod/vi1/token/${secret}/hls/manifest.m3u8?avh=${secret}`,
      '/vod/vi1/token/[secret]/hls/manifest.m3u8?avh=[secret]',
    ],
    [`//vod//vi1//token//${secret}//session`, '/vod/vi1/token/[secret]/session'],
    [`/v%6fd/vi1/t%6Fken/${secret}`, '/vod/vi1/token/[secret]'],
    [`/vod/vi1%2Ftoken%2f${secret}%2Fhls`, '/vod/vi1%2Ftoken%2f[secret]%2Fhls'],
    [`/sandbox/vod/vi1?token=${secret}#t=1`, '/sandbox/vod/vi1?token=[secret]#t=1'],
    [`/vod/vi1?avh[]=${secret}&avh%5B0%5D=${secret}&dl=1`, '/vod/vi1?avh[]=[secret]&avh[0]=[secret]&dl=1'],
    [`/upload-tokens/${secret}`, '/upload-tokens/[secret]'],
    [`/upload%2Dtokens/${secret}/`, '/upload-tokens/[secret]/'],
    [`/sandbox//upload-tokens//${secret}?x=1`, '/sandbox/upload-tokens/[secret]?x=1'],
    [`/upload?token=${secret}`, '/upload?token=[secret]'],
    [`/tus?TOKEN=${secret}`, '/tus?TOKEN=[secret]'],
    [`/tus/vi1-${secret}`, '/tus/[secret]'],
    [`http://localhost/sandbox/tus/vi1-${secret}?a=b`, 'http://localhost/sandbox/tus/[secret]?a=b'],
    [`/videos?access%5Ftoken=${secret}&title=a`, '/videos?access_token=[secret]&title=a'],
    [
      `/videos?title=a&apiKey=${secret}&api_key=${secret}`,
      '/videos?title=a&apiKey=[secret]&api_key=[secret]',
    ],
    [
      `/x?X-Amz-Signature=${secret}&X-Amz-Credential=${secret}`,
      '/x?X-Amz-Signature=[secret]&X-Amz-Credential=[secret]',
    ],
    [
      `/oembed?url=http%3A%2F%2Fh%2Fvod%2Fvi1%3Ftoken%3D${secret}&format=json`,
      '/oembed?url=http%3A%2F%2Fh%2Fvod%2Fvi1%3Ftoken%3D[secret]&format=json',
    ],
    [
      `/oembed?url=http%3a%2f%2fh%2fvod%2fvi1%3fa%3db%26token%3d${secret}%26c%3dd`,
      '/oembed?url=http%3a%2f%2fh%2fvod%2fvi1%3fa%3db%26token%3d[secret]%26c%3dd',
    ],
    [
      `/oembed?url=http://h/vod/vi1?token=${secret}&format=json`,
      '/oembed?url=http://h/vod/vi1?token=[secret]&format=json',
    ],
  ] as const) {
    assert.equal(withoutSecrets(url), expected)
    assert.ok(!withoutSecrets(url).includes(secret))
  }
})

test('other parts of a URL are not masked', () => {
  for (const url of [
    '/videos?title=tokens%20and%20avh&tags[]=a&metadata[viewer]=b&pageSize=25',
    '/videos/vi1/source',
    '/vod/vi1/hls/720p/video-12.m4s',
    '/upload-tokens?sortBy=ttl',
    '/upload-tokens',
    '/tus',
    '/videos?description=a%26b%3Dc',
    '/%zz/%',
    '/',
  ])
    assert.equal(withoutSecrets(url), url)
})
