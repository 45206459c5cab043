const node = `import { createHmac, timingSafeEqual } from 'node:crypto'

const secret = process.env.WEBHOOK_SECRET

export function isGenuine(body, headers) {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const isRecent = Math.abs(Date.now() / 1000 - timestamp) < 300
  const expected = createHmac('sha256', secret)
    .update(\`\${id}.\${timestamp}.\`)
    .update(body)
    .digest()
  const signatures = (headers['webhook-signature'] ?? '').split(' ')
  return isRecent && signatures.some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
`

const python = `import base64, hashlib, hmac, os, time

secret = os.environ["WEBHOOK_SECRET"]

def is_genuine(body: bytes, headers) -> bool:
    id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{id}.{timestamp}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    signatures = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(expected, each) for each in signatures)
`

const php = `<?php
// isGenuine(file_get_contents('php://input'), getallheaders())
function isGenuine(string $body, array $headers): bool
{
    $secret = getenv('WEBHOOK_SECRET');
    $headers = array_change_key_case($headers);
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $digest = hash_hmac('sha256', "$id.$timestamp.$body", $secret, true);
    $expected = 'v1,' . base64_encode($digest);
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}
`

/** By language. They check the signature of Standard Webhooks, which also covers the time. */
export const verifySamples = { Node: node, Python: python, PHP: php }
