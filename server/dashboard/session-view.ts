import { readVersion } from '../lib/version.ts'
import type { OpenContext } from '../slice.ts'
import { canTranscribe } from '../transcripts/request.ts'
import { canSummarize } from '../transcripts/summaries/request.ts'
import { findPassword } from './password-store.ts'
import { csrfTokenOf, isPasswordFree, type Session } from './sessions.ts'

export type ViewDeps = Pick<OpenContext, 'config' | 'db' | 'now' | 'ports' | 'publicUrl' | 'secret'>

const version = readVersion()

/** What the page needs to know before it shows anything. */
export async function viewSession(deps: ViewDeps, session: Session) {
  const { config, db, publicUrl } = deps
  const hasPassword = (await findPassword(db)) !== undefined
  const passwordIsSetting = config.adminPassword !== undefined
  const isByLink = isPasswordFree(session, deps.now())
  return {
    csrfToken: csrfTokenOf(deps, session),
    expiresAt: session.expires_at,
    hasPassword,
    passwordIsSetting,
    mustChoosePassword: !passwordIsSetting && (!hasPassword || isByLink),
    needsCurrentPassword: hasPassword && !isByLink,
    version,
    publicUrl: publicUrl(),
    ...ingestUrls(deps),
    restoreHours: config.restoreDays * 24,
    sandbox: config.sandbox,
    canTranscribe: canTranscribe(config),
    canSummarize: canSummarize(config),
  }
}

/** The ports of this process. If it has no RTMP server, those of the settings, which the others probably share. */
function ingestUrls({ config, publicUrl, ports }: ViewDeps) {
  const { rtmpPort: rtmp, rtmpsPort, srtPort: srt, webrtcPort, tls } = config
  const fromSettings = { rtmp, rtmps: tls && rtmpsPort, srt, webrtc: webrtcPort }
  const { rtmp: rtmpPort, rtmps, srt: srtPort, webrtc } = ports() ?? fromSettings
  const { hostname } = new URL(publicUrl())
  return {
    rtmpUrl: rtmpPort ? `rtmp://${hostname}:${rtmpPort}/s` : null,
    rtmpsUrl: rtmps ? `rtmps://${hostname}:${rtmps}/s` : null,
    srtUrl: srtPort ? `srt://${hostname}:${srtPort}` : null,
    whipUrl: webrtc === undefined ? null : `${publicUrl()}/whip`,
  }
}
