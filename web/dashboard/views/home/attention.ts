import type { Environment } from '../../api/client.ts'
import type { FailingWebhook, Failure, System } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'

const words = messages.home.attention
const recentMs = 7 * 86_400_000

/** Something that somebody has to look at, and where. */
export type Attention = { key: string; title: string; text: string; isBad: boolean } & (
  | { videoId: string }
  | { webhookId: string }
  | { isSystem: true }
)

/** The most urgent first: what stops everything, then what has failed, then warnings. */
export function attentionOf(system: System, environment: Environment, now: number): Attention[] {
  const warnings = system.diagnosis?.warnings ?? []
  return [
    ...(system.isDiskLow
      ? [
          {
            key: 'disk',
            title: words.disk,
            text: messages.system.diskPaused,
            isBad: true,
            isSystem: true as const,
          },
        ]
      : []),
    ...warnings
      .filter(({ state }) => state === 'failed')
      .map(({ name, message }) => ({
        key: `check ${name} ${message}`,
        title: titleOf(name),
        text: message,
        isBad: true,
        isSystem: true as const,
      })),
    ...system.failingWebhooks.filter((each) => each.environment === environment).map(ofWebhook),
    ...recentFailures(system.failures, environment, now).map(ofVideo),
    ...ofWarnings(warnings.filter(({ state }) => state === 'warning')),
  ]
}

/** One for each video. That of the entire video counts, then the newest. */
function recentFailures(failures: Failure[], environment: Environment, now: number): Failure[] {
  const recent = failures.filter(
    (each) => each.environment === environment && now - Date.parse(each.failedAt) < recentMs,
  )
  const isFirst = (failure: Failure) =>
    failure ===
    (recent.find(({ videoId, quality }) => videoId === failure.videoId && quality === null) ??
      recent.find(({ videoId }) => videoId === failure.videoId))
  return recent.filter(isFirst)
}

const ofVideo = ({ videoId, title, quality, reason }: Failure): Attention => ({
  key: videoId,
  title: title || videoId,
  text: quality === null ? reason : `${quality}: ${reason}`,
  isBad: true,
  videoId,
})

const ofWebhook = ({ webhookId, url, status, error }: FailingWebhook): Attention => ({
  key: webhookId,
  title: url,
  text: words.webhook(status === null ? (error ?? '') : words.status(status)),
  isBad: true,
  webhookId,
})

/** "backup" as "Backup". */
const titleOf = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

/** They are all in one place, and none of them is urgent. */
function ofWarnings(warnings: { name: string; message: string }[]): Attention[] {
  const [first] = warnings
  if (!first) return []
  const isOne = warnings.length === 1
  return [
    {
      key: 'warnings',
      title: isOne ? titleOf(first.name) : words.warnings(warnings.length),
      text: warnings.map(({ message }) => message).join(' '),
      isBad: false,
      isSystem: true,
    },
  ]
}
