import { findSecret } from '../accounts/secret-store.ts'
import { type Check, type DoctorContext, type Finding, failed, firstLine, ok, warning } from './check.ts'
import { isLocal } from './dns.ts'
import { fetchHead, type Head } from './http.ts'
import { identityPath, newNonce, proofOf } from './identity.ts'

export const publicUrlCheck: Check = {
  name: 'public URL',
  ifStuck: 'Check the firewall and the proxy in front of Kinora: nothing answers at the public URL.',
  async run(context, signal) {
    const { config, publicUrl, localUrl } = context
    const hint = judgeUrl(context)
    if (!localUrl && !config.roles.has('api')) return ok('Another process serves it.')
    if (!localUrl) return hint ?? ok(`${publicUrl} was not requested, because the service does not run here.`)
    const nonce = newNonce()
    const secret = context.db && (await findSecret(context.db).catch(() => undefined))
    let head: Head
    try {
      head = await fetchHead(publicUrl + identityPath(nonce), signal)
    } catch (error) {
      return explainRequest(context, error)
    }
    const finding = judgeAnswer(publicUrl, head, secret && proofOf(secret, nonce))
    return finding.state === 'ok' && hint ? hint : finding
  },
}

/** What can be said without a request. */
function judgeUrl({ config, publicUrl, env }: DoctorContext): Finding | undefined {
  const { hostname, protocol } = new URL(publicUrl)
  if (!config.publicUrl && !isLocal(config.host) && env.KINORA_HOST !== undefined)
    return warning(
      `KINORA_PUBLIC_URL is not set, so URLs in responses begin with ${publicUrl}, which works on this machine only.`,
      'Set KINORA_PUBLIC_URL to the URL that viewers use, such as https://video.example.com.',
    )
  if (protocol === 'http:' && !isLocal(hostname))
    return warning(
      `${publicUrl} is not encrypted: keys and passwords can be read on the way.`,
      'Use HTTPS: docs/operations.md says how.',
    )
  return undefined
}

function judgeAnswer(publicUrl: string, { status, text }: Head, proof: string | undefined): Finding {
  let body: { status?: unknown; proof?: unknown } = {}
  try {
    body = JSON.parse(text)
  } catch {
    // Something else answers there.
  }
  if (status !== 200 || body.status !== 'alive')
    return failed(
      `${publicUrl} is answered by something else (status ${status}).`,
      'Let the proxy pass all requests for this host on to Kinora, or correct KINORA_PUBLIC_URL.',
    )
  if (proof !== undefined && body.proof !== proof)
    return failed(
      `${publicUrl} reaches another installation of Kinora.`,
      'Point its DNS record or its proxy at this installation, or correct KINORA_PUBLIC_URL.',
    )
  if (isLocal(new URL(publicUrl).hostname))
    return ok(`${publicUrl} reaches this installation. It works on this machine only.`)
  return ok(
    `${publicUrl} reaches this installation from this machine. Whether it does from the internet can only be seen there: open it on a phone without Wi-Fi.`,
  )
}

const tlsAdvices: Record<string, string> = {
  CERT_HAS_EXPIRED: 'Renew the certificate.',
  CERT_NOT_YET_VALID: 'Check the clock of this machine, and the certificate.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Use a certificate for the host of KINORA_PUBLIC_URL, or correct KINORA_PUBLIC_URL.',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'Use a certificate of a public authority: browsers reject one that is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN:
    'Use a certificate of a public authority, or trust yours with NODE_EXTRA_CA_CERTS.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'Put the intermediate certificates into the certificate file, after the own one.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'Put the intermediate certificates into the certificate file, after the own one.',
}

function explainRequest({ publicUrl }: DoctorContext, error: unknown): Finding {
  const inner = error instanceof AggregateError ? error.errors[0] : error
  const code = (inner as NodeJS.ErrnoException | undefined)?.code ?? ''
  const tlsAdvice = tlsAdvices[code]
  if (tlsAdvice)
    return failed(`The certificate of ${publicUrl} is not accepted: ${firstLine(error)}.`, tlsAdvice)
  if (code === 'ECONNREFUSED')
    return failed(
      `Nothing listens at ${publicUrl}.`,
      'Start the proxy, open the port, or correct KINORA_PUBLIC_URL.',
    )
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return failed(`${publicUrl} cannot be resolved.`, 'See the result of the DNS check.')
  return failed(
    `${publicUrl} cannot be reached from this machine: ${firstLine(error)}.`,
    'Check the firewall and the proxy. Some routers do not let a machine reach its own public address: then only a request from outside can tell.',
  )
}
